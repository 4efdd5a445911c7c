#include "readers/flight_recorder/pickle.h"

#include <bit>
#include <cstring>
#include <unordered_map>

namespace telltale::flight_recorder {
namespace {

using Kind = Value::Kind;

// Of an opcode that can name or call code; empty for others.
std::string_view RefusedOpcode(unsigned char opcode) {
  switch (opcode) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    default:
      return {};
  }
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<ValueTree> Read() {
    while (!is_done_) {
      opcode_at_ = at_;
      if (at_ == bytes_.size()) {
        is_cut_ = true;
        break;
      }
      const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
      TELLTALE_TRY(Step(opcode));
      if (is_cut_) break;
    }
    if (is_cut_) CloseAll();
    if (stack_.size() != 1) return Invalid("does not hold one value");
    tree_.root = stack_[0];
    if (is_cut_) tree_.damage = fmt::format("the pickle ends early, at byte {}", bytes_.size());
    return std::move(tree_);
  }

 private:
  tl::unexpected<Error> Invalid(std::string_view what) const {
    return Fail("the pickle {} (byte {})", what, opcode_at_);
  }

  // Little-endian; 0, and cut, where the bytes end.
  template <typename Integer>
  Integer Number() {
    Integer value = 0;
    const std::string_view raw = Raw(sizeof value);
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }

  std::string_view Raw(uint64_t size) {
    if (bytes_.size() - at_ < size) {
      is_cut_ = true;
      at_ = bytes_.size();
      return {};
    }
    const std::string_view raw = bytes_.substr(at_, size);
    at_ += size;
    return raw;
  }

  Status Push(Kind kind, int64_t integer = 0) {
    if (is_cut_) return {};
    Value* const value = tree_.Add(kind);
    if (value == nullptr) return Invalid("holds more values than a dump can have");
    value->integer = integer;
    stack_.push_back(value);
    return {};
  }

  Status PushText(uint64_t size) {
    const std::string_view raw = Raw(size);
    TELLTALE_TRY(Push(Kind::kText));
    if (!is_cut_) stack_.back()->text = raw;
    return {};
  }

  // Two's complement of any length; beyond 64 bits it is none of ours.
  Status PushLong(uint64_t size) {
    const std::string_view raw = Raw(size);
    if (raw.size() > sizeof(int64_t)) return Push(Kind::kNone);
    uint64_t value = !raw.empty() && (raw.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    if (!raw.empty()) std::memcpy(&value, raw.data(), raw.size());
    return Push(Kind::kInteger, std::bit_cast<int64_t>(value));
  }

  Status PushReal() {
    const auto bits = Number<uint64_t>();
    TELLTALE_TRY(Push(Kind::kReal));
    if (!is_cut_) stack_.back()->real = std::bit_cast<double>(__builtin_bswap64(bits));
    return {};
  }

  Status Tuple(size_t count) {
    if (stack_.size() < Floor() + count) return Invalid("takes values that are not there");
    return Gather(Kind::kList, stack_.size() - count);
  }

  // Makes one value of those from `first` on.
  Status Gather(Kind kind, size_t first) {
    std::vector<const Value*> items(stack_.begin() + static_cast<std::ptrdiff_t>(first),
                                    stack_.end());
    if (kind == Kind::kDict && items.size() % 2 != 0) return Invalid("has a key without a value");
    ShrinkTo(first);
    TELLTALE_TRY(Push(kind));
    stack_.back()->items = std::move(items);
    return {};
  }

  // The height of the stack where what ends here began.
  Result<size_t> TakeMark() {
    if (marks_.empty()) return Invalid("closes what was not opened");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  Status GatherToMark(Kind kind) {
    TELLTALE_ASSIGN(const size_t mark, TakeMark());
    return Gather(kind, mark);
  }

  // Puts those from `first` on into the value before them.
  Status PutInto(Kind kind, size_t first) {
    if (first <= Floor() || stack_[first - 1]->kind != kind) {
      return Invalid("adds to what is no list or dict");
    }
    if (kind == Kind::kDict && (stack_.size() - first) % 2 != 0) {
      return Invalid("has a key without a value");
    }
    std::vector<const Value*>& items = stack_[first - 1]->items;
    items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
    ShrinkTo(first);
    return {};
  }

  Status PutToMark(Kind kind) {
    TELLTALE_ASSIGN(const size_t mark, TakeMark());
    return PutInto(kind, mark);
  }

  Status PutLast(Kind kind, size_t count) {
    if (stack_.size() < Floor() + count + 1) return Invalid("takes values that are not there");
    return PutInto(kind, stack_.size() - count);
  }

  Status Remember(uint64_t place) {
    if (is_cut_) return {};
    if (stack_.size() <= Floor()) return Invalid("remembers what is not there");
    memo_[place] = stack_.back();
    return {};
  }

  Status Recall(uint64_t place) {
    if (is_cut_) return {};
    const auto found = memo_.find(place);
    if (found == memo_.end()) return Invalid("recalls what was not remembered");
    stack_.push_back(found->second);
    return {};
  }

  void ShrinkTo(size_t size) {
    if (size < stack_.size())
      stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(size), stack_.end());
  }

  // What lies below the last mark must stay.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  // The end is missing: what is open is closed around what there is.
  void CloseAll() {
    while (!marks_.empty()) {
      const size_t mark = marks_.back();
      marks_.pop_back();
      if (mark > Floor() && mark <= stack_.size()) {
        Value& into = *stack_[mark - 1];
        if (into.kind == Kind::kDict || into.kind == Kind::kList) {
          size_t count = stack_.size() - mark;
          if (into.kind == Kind::kDict) count -= count % 2;
          into.items.insert(into.items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(mark),
                            stack_.begin() + static_cast<std::ptrdiff_t>(mark + count));
        }
      }
      ShrinkTo(mark);
    }
    ShrinkTo(1);
  }

  Status Step(unsigned char opcode);

  std::string_view bytes_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  bool is_done_ = false;
  bool is_cut_ = false;
  ValueTree tree_;
  std::vector<Value*> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint64_t, Value*> memo_;
};

Status Reader::Step(unsigned char opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      const auto protocol = Number<uint8_t>();
      if (protocol > 5) return Invalid(fmt::format("has protocol {}", protocol));
      return {};
    }
    case 0x95:  // FRAME
      (void)Number<uint64_t>();
      return {};
    case '.':  // STOP
      if (!marks_.empty()) return Invalid("ends within a list or dict");
      is_done_ = true;
      return {};
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return {};
    case 'N':
      return Push(Kind::kNone);
    case 0x88:  // NEWTRUE
      return Push(Kind::kBool, 1);
    case 0x89:  // NEWFALSE
      return Push(Kind::kBool, 0);
    case 'J':  // BININT
      return Push(Kind::kInteger, Number<int32_t>());
    case 'K':  // BININT1
      return Push(Kind::kInteger, Number<uint8_t>());
    case 'M':  // BININT2
      return Push(Kind::kInteger, Number<uint16_t>());
    case 0x8a:  // LONG1
      return PushLong(Number<uint8_t>());
    case 0x8b:  // LONG4
      return PushLong(Number<uint32_t>());
    case 'G':  // BINFLOAT
      return PushReal();
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
      return PushText(Number<uint8_t>());
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      return PushText(Number<uint32_t>());
    case 0x8d:  // BINUNICODE8
      return PushText(Number<uint64_t>());
    case '}':
      return Push(Kind::kDict);
    case ']':
    case ')':  // EMPTY_TUPLE
      return Push(Kind::kList);
    case 't':
    case 'l':
      return GatherToMark(Kind::kList);
    case 'd':
      return GatherToMark(Kind::kDict);
    case 0x85:  // TUPLE1
    case 0x86:
    case 0x87:
      return Tuple(opcode - 0x84U);
    case 'a':  // APPEND
      return PutLast(Kind::kList, 1);
    case 'e':  // APPENDS
      return PutToMark(Kind::kList);
    case 's':  // SETITEM
      return PutLast(Kind::kDict, 2);
    case 'u':  // SETITEMS
      return PutToMark(Kind::kDict);
    case 'q':  // BINPUT
      return Remember(Number<uint8_t>());
    case 'r':  // LONG_BINPUT
      return Remember(Number<uint32_t>());
    case 0x94:  // MEMOIZE
      return Remember(memo_.size());
    case 'h':  // BINGET
      return Recall(Number<uint8_t>());
    case 'j':  // LONG_BINGET
      return Recall(Number<uint32_t>());
    default:
      break;
  }
  const std::string_view refused = RefusedOpcode(opcode);
  if (!refused.empty()) {
    return Invalid(fmt::format("has {}, which can run code: refused", refused));
  }
  return Invalid(fmt::format("has an unknown opcode 0x{:02x}", opcode));
}

}  // namespace

bool IsPickle(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<ValueTree> ReadPickle(std::string_view bytes) { return Reader(bytes).Read(); }

}  // namespace telltale::flight_recorder
