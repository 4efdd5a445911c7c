#include "readers/nccl_inspector/stock_line.h"

namespace telltale::nccl_inspector {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Literal(std::string_view literal) {
    if (!text_.substr(position_).starts_with(literal)) return false;
    position_ += literal.size();
    return true;
  }

  // A JSON string with its quotes; its inside was validated by the general path.
  bool String() {
    if (position_ >= text_.size() || text_[position_] != '"') return false;
    for (size_t i = position_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        position_ = i + 1;
        return true;
      }
    }
    return false;
  }

  // An integer of at most 20 digits, without needless zeros in front; a minus only where asked for.
  bool Integer(bool may_be_negative = false) {
    if (may_be_negative && position_ < text_.size() && text_[position_] == '-') ++position_;
    const size_t start = position_;
    while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
    const size_t digits = position_ - start;
    return digits >= 1 && digits <= 20 && (digits == 1 || text_[start] != '0');
  }

  // "%f": six digits behind the point.
  bool Fixed() {
    if (!Integer(true) || !Literal(".")) return false;
    for (int i = 0; i < 6; ++i, ++position_) {
      if (position_ >= text_.size() || !IsDigit(text_[position_])) return false;
    }
    return true;
  }

  size_t position() const { return position_; }
  bool AtEnd() const { return position_ == text_.size(); }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

bool Header(Scanner& scanner) {
  if (!scanner.Literal(R"({"header":{"id":)") || !scanner.String()) return false;
  if (scanner.Literal(R"(,"comm_name":)") && !scanner.String()) return false;
  return scanner.Literal(R"(,"rank":)") && scanner.Integer(true) &&
         scanner.Literal(R"(,"n_ranks":)") && scanner.Integer(true) &&
         scanner.Literal(R"(,"nnodes":)") && scanner.Integer() &&
         scanner.Literal(R"(},"metadata":{"inspector_output_format_version":)") &&
         scanner.String() && scanner.Literal(R"(,"git_rev":)") && scanner.String() &&
         scanner.Literal(R"(,"rec_mechanism":)") && scanner.String() &&
         scanner.Literal(R"(,"dump_timestamp_us":)");
}

}  // namespace

std::optional<StockLine> MatchStockLine(std::string_view line) {
  Scanner scanner(line);
  StockLine stock;
  stock.has_header = line.starts_with(R"({"header":)");
  size_t tail_start = 0;
  if (stock.has_header) {
    if (!Header(scanner)) return {};
    stock.head = line.substr(0, scanner.position());
    if (!scanner.Integer()) return {};
    tail_start = scanner.position();
    if (!scanner.Literal(R"(,"hostname":)") || !scanner.String() ||
        !scanner.Literal(R"(,"pid":)") || !scanner.Integer() || !scanner.Literal("},")) {
      return {};
    }
    stock.tail = line.substr(tail_start, scanner.position() - tail_start);
  } else {
    if (!scanner.Literal("{")) return {};
    stock.head = line.substr(0, 1);
  }

  const size_t name_start = scanner.position();
  stock.is_p2p = scanner.Literal(R"("p2p_perf":{"p2p":)");
  if (!stock.is_p2p && !scanner.Literal(R"("coll_perf":{"coll":)")) return {};
  if (!scanner.String()) return {};
  if (!stock.is_p2p && scanner.Literal(R"(,"coll_algo":)")) {
    if (!scanner.String() || !scanner.Literal(R"(,"coll_proto":)") || !scanner.String()) return {};
  }
  if (!scanner.Literal(stock.is_p2p ? R"(,"p2p_sn":)" : R"(,"coll_sn":)")) return {};
  stock.name_part = line.substr(name_start, scanner.position() - name_start);
  if (!scanner.Integer()) return {};
  const size_t size_start = scanner.position();
  if (stock.is_p2p && (!scanner.Literal(R"(,"p2p_peer":)") || !scanner.Integer())) return {};
  if (!scanner.Literal(stock.is_p2p ? R"(,"p2p_msg_size_bytes":)" : R"(,"coll_msg_size_bytes":)") ||
      !scanner.Integer() ||
      !scanner.Literal(stock.is_p2p ? R"(,"p2p_exec_time_us":)" : R"(,"coll_exec_time_us":)")) {
    return {};
  }
  stock.size_part = line.substr(size_start, scanner.position() - size_start);
  if (!scanner.Integer()) return {};
  const size_t timing_start = scanner.position();
  if (!scanner.Literal(stock.is_p2p ? R"(,"p2p_timing_source":)" : R"(,"coll_timing_source":)") ||
      !scanner.String() ||
      !scanner.Literal(stock.is_p2p ? R"(,"p2p_algobw_gbs":)" : R"(,"coll_algobw_gbs":)")) {
    return {};
  }
  stock.timing_part = line.substr(timing_start, scanner.position() - timing_start);
  if (!scanner.Fixed()) return {};
  const size_t bus_start = scanner.position();
  if (!scanner.Literal(stock.is_p2p ? R"(,"p2p_busbw_gbs":)" : R"(,"coll_busbw_gbs":)")) return {};
  stock.bus_part = line.substr(bus_start, scanner.position() - bus_start);
  if (!scanner.Fixed() || !scanner.Literal("}}") || !scanner.AtEnd()) return {};
  return stock;
}

}  // namespace telltale::nccl_inspector
