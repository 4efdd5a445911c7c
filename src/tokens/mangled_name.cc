#include "tokens/mangled_name.h"

#include <cstddef>

namespace telltale::tokens {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

// Reads by the grammar of the Itanium C++ ABI (5.1, "External Names"), as far as is needed to find
// where template arguments end. Each function returns false where the text is something else.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool Path(std::string& path) { return Take("_Z") && Name(&path); }

 private:
  // Nesting of real kernels stays below 50.
  static constexpr int kDeepest = 200;
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool TooDeep() const { return depth_ > kDeepest; }

   private:
    int& depth_;
  };

  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool Take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool TakeOneOf(std::string_view characters) {
    if (at_ >= text_.size() || characters.find(Peek()) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  // "_", "3_": what numbers substitutions, parameters and lambdas.
  bool Sequence() {
    while (IsDigit(Peek()) || (Peek() >= 'A' && Peek() <= 'Z')) ++at_;
    return Take('_');
  }
  void Digits() {
    while (IsDigit(Peek())) ++at_;
  }

  static void AddPart(std::string_view part, std::string* path) {
    if (path == nullptr) return;
    if (!path->empty()) *path += "::";
    *path += part;
  }

  bool SourceName(std::string* path) {
    size_t length = 0;
    if (!IsDigit(Peek())) return false;
    while (IsDigit(Peek())) {
      length = length * 10 + static_cast<size_t>(Peek() - '0');
      if (length > text_.size()) return false;
      ++at_;
    }
    if (length == 0 || length > text_.size() - at_) return false;
    const std::string_view part = text_.substr(at_, length);
    at_ += length;
    AddPart(part.starts_with("_GLOBAL__N") ? "(anonymous namespace)" : part, path);
    return true;
  }

  bool IsOperatorOrConstructor() const {
    return (IsLower(Peek()) && IsLower(Peek(1))) ||
           ((Peek() == 'C' || Peek() == 'D') && IsDigit(Peek(1)));
  }

  bool UnqualifiedName(std::string* path) {
    Take('L');  // internal linkage
    if (IsDigit(Peek())) {
      if (!SourceName(path)) return false;
    } else if (Take("Ul")) {
      if (!TypesUntilEnd() || !Sequence()) return false;
      AddPart("{lambda}", path);
    } else if (Take("Ut")) {
      if (!Sequence()) return false;
      AddPart("{unnamed type}", path);
    } else if (Take("cl")) {
      AddPart("operator()", path);
    } else if (path == nullptr && Take("cv")) {
      if (!Type()) return false;
    } else if (path == nullptr && IsOperatorOrConstructor()) {
      at_ += 2;
    } else {
      return false;
    }
    while (Take('B')) {
      if (!SourceName(nullptr)) return false;
    }
    return true;
  }

  // Behind the 'S'. The path's own parts cannot be substitutions: nothing came before them.
  bool Substitution(std::string* path) {
    if (Take('t')) {
      AddPart("std", path);
      return true;
    }
    if (path != nullptr) return false;
    return TakeOneOf("absiod") || Sequence();
  }

  bool NestedName(std::string* path) {
    const Level level(depth_);
    if (level.TooDeep()) return false;
    while (TakeOneOf("rVK")) {
    }
    TakeOneOf("RO");
    while (!Take('E')) {
      if (Peek() == 'I') {
        if (!TemplateArguments()) return false;
      } else if (Take('S')) {
        if (!Substitution(path)) return false;
      } else if (Peek() == 'T' || (Peek() == 'D' && (Peek(1) == 't' || Peek(1) == 'T'))) {
        if (path != nullptr || !Type()) return false;
      } else if (!Take('M') && !UnqualifiedName(path)) {
        return false;
      }
    }
    return true;
  }

  // Behind the 'Z': a function, and what is declared in it.
  bool LocalName(std::string* path) {
    const Level level(depth_);
    if (level.TooDeep() || !Name(path)) return false;
    while (!Take('E')) {
      if (!Type()) return false;
    }
    if (Take('s')) {
      Take('_') && Sequence();
      return true;
    }
    if (Take('d') && !Sequence()) return false;
    if (!Name(path)) return false;
    if (Take('_')) Digits();
    return true;
  }

  bool Name(std::string* path) {
    if (Take('N')) return NestedName(path);
    if (Take('Z')) return LocalName(path);
    if (Take('S')) {
      const bool is_std = Peek() == 't';
      if (!Substitution(path) || (is_std && !UnqualifiedName(path))) return false;
    } else if (!UnqualifiedName(path)) {
      return false;
    }
    return Peek() != 'I' || TemplateArguments();
  }

  bool TypesUntilEnd() {
    while (!Take('E')) {
      if (!Type()) return false;
    }
    return true;
  }

  bool TemplateArguments() { return Take('I') && ArgumentsUntilEnd(); }

  bool ArgumentsUntilEnd() {
    const Level level(depth_);
    if (level.TooDeep()) return false;
    while (!Take('E')) {
      if (Take("Ty") || Take("Tp")) continue;  // what the parameter is, where the argument does not
      if (Take("Tn")) {                        // tell (C++20)
        if (!Type()) return false;
      } else if (Take('X')) {
        if (!ExpressionUntilEnd()) return false;
      } else if (Take('J') || Take('I')) {
        if (!ArgumentsUntilEnd()) return false;
      } else if (Take('L')) {
        if (!Literal()) return false;
      } else if (!Type()) {
        return false;
      }
    }
    return true;
  }

  // Behind the 'L'.
  bool Literal() {
    const Level level(depth_);
    if (level.TooDeep()) return false;
    if (Take("_Z") || Take('Z')) return Name(nullptr) && TypesUntilEnd();
    if (!Type()) return false;
    const size_t end = text_.find('E', at_);
    if (end == std::string_view::npos) return false;
    for (; at_ < end; ++at_) {
      if (!IsDigit(Peek()) && !IsLower(Peek()) && Peek() != '_') return false;
    }
    ++at_;
    return true;
  }

  // Without the arity of operators: only what opens something that an 'E' closes matters.
  bool ExpressionUntilEnd() {
    size_t open = 1;
    while (open > 0) {
      if (Take('E')) {
        --open;
      } else if (Take("cl") || Take("il") || Take("cp")) {
        ++open;
      } else if (Take("tl")) {
        ++open;
        if (!Type()) return false;
      } else if (Take("cv")) {
        if (!Type()) return false;
        if (Take('_')) ++open;
      } else if (Take("fp") || Take("fL")) {
        while (TakeOneOf("rVKp") || IsDigit(Peek())) Digits();
        if (!Take('_')) return false;
      } else if (Take("sr") || Take("st") || Take("at") || Take("ti")) {
        if (!Type()) return false;
      } else if (Take('L')) {
        if (!Literal()) return false;
      } else if (Peek() == 'I') {
        if (!TemplateArguments()) return false;
      } else if (IsLower(Peek()) && IsLower(Peek(1))) {
        at_ += 2;
      } else if (IsLower(Peek()) || !Type()) {
        return false;
      }
    }
    return true;
  }

  // Behind the 'D'.
  bool TypeWithD() {
    if (Take('t') || Take('T')) return ExpressionUntilEnd();
    if (Take('p')) return Type();
    if (Take('F')) {
      Digits();
      return TakeOneOf("_bx");
    }
    if (Take('v')) {
      Digits();
      return Take('_') && Type();
    }
    if (Take('o')) return Type();
    if (!IsLower(Peek())) return false;
    ++at_;
    return true;
  }

  bool Type() {
    const Level level(depth_);
    if (level.TooDeep()) return false;
    while (TakeOneOf("PROKVrCG")) {
    }
    if (Take('N')) return NestedName(nullptr);
    if (Take('Z')) return LocalName(nullptr);
    if (Take('D')) return TypeWithD();
    if (Take('M')) return Type() && Type();
    if (Take('F')) {
      Take('Y');
      while (!Take('E')) {
        if ((Peek() == 'R' || Peek() == 'O') && Peek(1) == 'E')
          ++at_;
        else if (!Type())
          return false;
      }
      return true;
    }
    if (Take('A')) {
      Digits();
      return Take('_') && Type();
    }
    if (Take('U')) {  // a vendor's qualifier
      return SourceName(nullptr) && (Peek() != 'I' || TemplateArguments()) && Type();
    }
    if (Take('S')) {
      const bool is_std = Peek() == 't';
      if (!Substitution(nullptr) || (is_std && !UnqualifiedName(nullptr))) return false;
      return Peek() != 'I' || TemplateArguments();
    }
    if (Take('T')) {
      if (TakeOneOf("sue")) return Name(nullptr);  // "struct", "union", "enum"
      if (Take('L')) {                             // a parameter of an outer template
        Digits();
        if (!Take('_')) return false;
      }
      return Sequence() && (Peek() != 'I' || TemplateArguments());
    }
    if (Take('u')) return SourceName(nullptr) && (Peek() != 'I' || TemplateArguments());
    if (IsDigit(Peek())) return SourceName(nullptr) && (Peek() != 'I' || TemplateArguments());
    if (!IsLower(Peek())) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string PathOfMangledName(std::string_view name) {
  std::string path;
  if (!name.starts_with("_Z") || !Reader(name).Path(path)) return {};
  return path;
}

}  // namespace telltale::tokens
