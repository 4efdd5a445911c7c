#include "readers/nsight/sqlite_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

namespace telltale::nsight {
namespace {

constexpr size_t kFileHeaderBytes = 100;
constexpr uint32_t kLargestWindow = 1 << 18;  // bytes, that stay in the cache

enum PageType : uint8_t { kInteriorTable = 5, kLeafTable = 13 };

uint32_t BigEndian(const uint8_t* at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}

// Up to nine bytes, of which the last has eight bits. False where it goes on behind `end`.
bool TakeVarint(const uint8_t*& at, const uint8_t* end, uint64_t& value) {
  if (at == end) return false;
  value = *at++;
  if (value < 0x80) return true;
  value &= 0x7f;
  for (int i = 1; i < 8; ++i) {
    if (at == end) return false;
    const uint8_t byte = *at++;
    value = value << 7 | (byte & 0x7f);
    if (byte < 0x80) return true;
  }
  if (at == end) return false;
  value = value << 8 | *at++;
  return true;
}

// Big-endian and signed; `end`: of what may be read.
int64_t IntegerOf(const uint8_t* at, size_t bytes, const uint8_t* end) {
  if (end - at >= 8) {
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
    return static_cast<int64_t>(value) >> (64 - 8 * bytes);
  }
  auto value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(at[0])));
  for (size_t i = 1; i < bytes; ++i) value = value << 8 | at[i];
  return static_cast<int64_t>(value);
}

// As SQLite makes an integer of a real number.
int64_t Truncated(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= kLimit) return std::numeric_limits<int64_t>::max();
  if (value <= -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

// Bytes of a value of a serial type.
uint64_t BytesOf(uint64_t type) {
  constexpr uint8_t kBytes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  if (type < std::size(kBytes)) return kBytes[type];
  return (type - 12) / 2;
}

// False for types that no file has.
bool SetValue(uint64_t type, const uint8_t* at, const uint8_t* end, SqliteValue& value) {
  using Kind = SqliteValue::Kind;
  if (type == 0) {
    value.kind = Kind::kNull;
  } else if (type <= 6) {
    value.kind = Kind::kInteger;
    value.integer = IntegerOf(at, BytesOf(type), end);
  } else if (type == 7) {
    const auto real = std::bit_cast<double>(IntegerOf(at, 8, end));
    // A NaN is a NULL.
    value.kind = std::isnan(real) ? Kind::kNull : Kind::kReal;
    value.integer = Truncated(real);
  } else if (type <= 9) {
    value.kind = Kind::kInteger;
    value.integer = type == 9 ? 1 : 0;
  } else if (type >= 12) {
    value.kind = Kind::kText;
    value.text = {reinterpret_cast<const char*>(at), BytesOf(type)};
  } else {
    return false;
  }
  return true;
}

Status Damaged(const char* what) { return Fail("the file is damaged: {}", what); }

}  // namespace

std::unique_ptr<SqlitePages> SqlitePages::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  std::unique_ptr<SqlitePages> pages(new SqlitePages(file, 0, 0, 0));
  uint8_t header[kFileHeaderBytes];
  struct stat status {};
  if (pread(file, header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      fstat(file, &status) != 0 || std::memcmp(header, "SQLite format 3", 16) != 0) {
    return nullptr;
  }
  constexpr uint32_t kUtf8 = 1;
  const uint32_t page_size = BigEndian(header + 16, 2);
  const uint32_t page_bytes = page_size == 1 ? 65536 : page_size;
  const uint32_t usable_bytes = page_bytes - header[20];
  if (page_bytes < 512 || !std::has_single_bit(page_bytes) || usable_bytes < 480 ||
      BigEndian(header + 56, 4) != kUtf8) {
    return nullptr;
  }
  pages->page_bytes_ = page_bytes;
  pages->usable_bytes_ = usable_bytes;
  pages->pages_ =
      static_cast<uint32_t>(std::min<uint64_t>(static_cast<uint64_t>(status.st_size) / page_bytes,
                                               std::numeric_limits<uint32_t>::max() - 1));
  return pages;
}

SqlitePages::~SqlitePages() { (void)close(file_); }

Status SqlitePages::ReadInto(uint32_t number, uint8_t* out) const {
  if (number == 0 || number > pages_) return Damaged("a page is not in it");
  const auto offset = static_cast<off_t>(uint64_t{number - 1} * page_bytes_);
  if (pread(file_, out, page_bytes_, offset) != static_cast<ssize_t>(page_bytes_)) {
    return Fail("the file cannot be read: {}", SystemErrorText(errno));
  }
  return {};
}

Result<SqlitePages::Page> SqlitePages::Read(uint32_t number) {
  if (number == 0 || number > pages_) return tl::unexpected(Damaged("a page is not in it").error());
  if (number < window_first_ || number - window_first_ >= window_pages_) {
    // Where pages follow each other, more and more at once.
    const bool goes_on = number >= window_first_ && number - window_first_ < 2 * window_pages_;
    next_window_pages_ =
        goes_on ? std::min(2 * next_window_pages_, std::max(1U, kLargestWindow / page_bytes_)) : 1;
    const uint32_t wanted = std::min(next_window_pages_, pages_ - number + 1);
    window_.resize(size_t{wanted} * page_bytes_);
    window_pages_ = 0;
    const auto offset = static_cast<off_t>(uint64_t{number - 1} * page_bytes_);
    const ssize_t got = pread(file_, window_.data(), window_.size(), offset);
    if (got < static_cast<ssize_t>(page_bytes_)) {
      return Fail("the file cannot be read: {}",
                  got < 0 ? SystemErrorText(errno) : "it has become shorter");
    }
    window_first_ = number;
    window_pages_ = static_cast<uint32_t>(static_cast<size_t>(got) / page_bytes_);
  }
  return Page{window_.data() + size_t{number - window_first_} * page_bytes_,
              number == 1 ? kFileHeaderBytes : 0};
}

// One way through a table, from its root to its leaves.
class SqlitePages::TableScan {
 public:
  TableScan(SqlitePages& pages, const TableLayout& layout, const RowidRange& rows,
            const std::function<void(const SqliteRow&)>& on_row)
      : pages_(pages), rows_(rows), on_row_(on_row), values_(layout.columns.size()) {
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      if (layout.columns[i] < 0) continue;
      wanted_.push_back(
          {static_cast<uint64_t>(layout.columns[i]), i, layout.columns[i] == layout.rowid_column});
    }
    std::sort(wanted_.begin(), wanted_.end(),
              [](const Wanted& a, const Wanted& b) { return a.place < b.place; });
  }

  // Its row ids are above `before`, and at most `last`.
  Status Visit(uint32_t number, int64_t before, int64_t last) {
    // Each page is in a table once, and no table is deeper.
    constexpr int kMostDepth = 20;
    if (++visited_ > pages_.pages_ || depth_ > kMostDepth) return Damaged("a page is there twice");
    TELLTALE_ASSIGN(const Page page, pages_.Read(number));
    const uint8_t type = page.bytes[page.header];
    if (type == kLeafTable) return VisitLeaf(page, before, last);
    if (type != kInteriorTable) return Damaged("a page is not of a table");
    ++depth_;
    Status status = VisitInterior(page, before, last);
    --depth_;
    return status;
  }

 private:
  struct Wanted {
    uint64_t place;  // in the table
    size_t value;    // in values_
    bool is_rowid;
  };

  // Where the cells of a page begin.
  template <typename OnCell>
  Status ForEachCell(const Page& page, size_t header_bytes, const OnCell& on_cell) {
    const size_t cells = BigEndian(page.bytes + page.header + 3, 2);
    const size_t pointers = page.header + header_bytes;
    const size_t usable = pages_.usable_bytes_;
    if (pointers + 2 * cells > usable) return Damaged("a page has too many rows");
    for (size_t i = 0; i < cells; ++i) {
      const size_t at = BigEndian(page.bytes + pointers + 2 * i, 2);
      if (at < pointers + 2 * cells || at >= usable) return Damaged("a row is not in its page");
      TELLTALE_TRY(on_cell(page.bytes + at, page.bytes + usable));
    }
    return {};
  }

  Status VisitInterior(const Page& page, int64_t before, int64_t last) {
    struct Child {
      uint32_t page;
      int64_t last;  // row id
    };
    std::vector<Child> children;
    constexpr size_t kHeaderBytes = 12;
    const uint32_t right = BigEndian(page.bytes + page.header + 8, 4);
    TELLTALE_TRY(
        ForEachCell(page, kHeaderBytes, [&](const uint8_t* at, const uint8_t* end) -> Status {
          if (end - at < 4) return Damaged("a row is not in its page");
          const uint32_t child = BigEndian(at, 4);
          at += 4;
          uint64_t key = 0;
          if (!TakeVarint(at, end, key)) return Damaged("a row is not in its page");
          children.push_back({child, static_cast<int64_t>(key)});
          return Status();
        }));
    children.push_back({right, last});
    for (const Child& child : children) {
      if (child.last < before || child.last > last) return Damaged("rows are not in order");
      if (child.last >= rows_.first) TELLTALE_TRY(Visit(child.page, before, child.last));
      if (done_ || child.last >= rows_.last) return {};
      before = child.last;
    }
    return {};
  }

  Status VisitLeaf(const Page& page, int64_t before, int64_t last) {
    constexpr size_t kHeaderBytes = 8;
    bool is_first = true;
    return ForEachCell(page, kHeaderBytes, [&](const uint8_t* at, const uint8_t* end) -> Status {
      uint64_t bytes = 0;
      uint64_t rowid = 0;
      if (!TakeVarint(at, end, bytes) || !TakeVarint(at, end, rowid)) {
        return Damaged("a row is not in its page");
      }
      const auto id = static_cast<int64_t>(rowid);
      // The least id that there is may be that before the first.
      if (id > last || id < before || (id == before && !is_first)) {
        return Damaged("rows are not in order");
      }
      before = id;
      is_first = false;
      // What follows is looked at for its order: a damaged id must not end the table.
      done_ = done_ || id > rows_.last;
      if (done_ || id < rows_.first) return Status();
      const size_t usable = pages_.usable_bytes_;
      if (bytes <= usable - 35) {
        if (bytes > static_cast<uint64_t>(end - at)) return Damaged("a row is not in its page");
        return GiveRow(id, at, at + bytes);
      }
      TELLTALE_TRY(ReadLongRow(at, end, bytes));
      return GiveRow(id, long_row_.data(), long_row_.data() + long_row_.size());
    });
  }

  // Its beginning is here, the rest on pages of its own.
  Status ReadLongRow(const uint8_t* at, const uint8_t* end, uint64_t bytes) {
    const size_t usable = pages_.usable_bytes_;
    if (bytes / (usable - 4) > pages_.pages_) return Damaged("a row is longer than the file");
    const size_t least = (usable - 12) * 32 / 255 - 23;
    const size_t even = least + (static_cast<size_t>(bytes) - least) % (usable - 4);
    const size_t here = even <= usable - 35 ? even : least;
    if (static_cast<size_t>(end - at) < here + 4) return Damaged("a row is not in its page");
    long_row_.assign(at, at + here);
    uint32_t next = BigEndian(at + here, 4);
    std::vector<uint8_t> page(pages_.page_bytes_);
    while (long_row_.size() < bytes) {
      TELLTALE_TRY(pages_.ReadInto(next, page.data()));
      const size_t more = std::min<size_t>(bytes - long_row_.size(), usable - 4);
      long_row_.insert(long_row_.end(), page.begin() + 4,
                       page.begin() + 4 + static_cast<ptrdiff_t>(more));
      next = BigEndian(page.data(), 4);
    }
    return {};
  }

  // A row is a header with the type of each value, and the values behind it.
  Status GiveRow(int64_t rowid, const uint8_t* begin, const uint8_t* end) {
    const uint8_t* type_at = begin;
    uint64_t header_bytes = 0;
    if (!TakeVarint(type_at, end, header_bytes) ||
        header_bytes > static_cast<uint64_t>(end - begin) ||
        header_bytes < static_cast<uint64_t>(type_at - begin)) {
      return Damaged("a row has no header");
    }
    const uint8_t* const types_end = begin + header_bytes;
    const uint8_t* value_at = types_end;
    auto wanted = wanted_.begin();
    for (uint64_t place = 0; wanted != wanted_.end() && type_at != types_end; ++place) {
      uint64_t type = 0;
      if (!TakeVarint(type_at, types_end, type)) return Damaged("a row has no header");
      const uint64_t bytes = BytesOf(type);
      if (bytes > static_cast<uint64_t>(end - value_at)) return Damaged("a row is too short");
      for (; wanted != wanted_.end() && wanted->place == place; ++wanted) {
        SqliteValue& value = values_[wanted->value];
        if (!SetValue(type, value_at, end, value)) return Damaged("a value is of no known type");
        if (wanted->is_rowid && type == 0) SetRowid(rowid, value);
      }
      value_at += bytes;
    }
    // Columns that were added to the table later are not in its older rows.
    for (; wanted != wanted_.end(); ++wanted) {
      SqliteValue& value = values_[wanted->value];
      value.kind = SqliteValue::Kind::kNull;
      if (wanted->is_rowid) SetRowid(rowid, value);
    }
    on_row_(SqliteRow(values_));
    return {};
  }

  static void SetRowid(int64_t rowid, SqliteValue& value) {
    value.kind = SqliteValue::Kind::kInteger;
    value.integer = rowid;
  }

  SqlitePages& pages_;
  RowidRange rows_;
  const std::function<void(const SqliteRow&)>& on_row_;
  std::vector<Wanted> wanted_;  // by place
  std::vector<SqliteValue> values_;
  std::vector<uint8_t> long_row_;
  uint32_t visited_ = 0;
  int depth_ = 0;
  bool done_ = false;
};

Status SqlitePages::Scan(const TableLayout& layout, const RowidRange& rows,
                         const std::function<void(const SqliteRow&)>& on_row) {
  return TableScan(*this, layout, rows, on_row)
      .Visit(layout.root_page, std::numeric_limits<int64_t>::min(),
             std::numeric_limits<int64_t>::max());
}

}  // namespace telltale::nsight
