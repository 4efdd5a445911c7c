#include "store/bandwidth_counts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "store/time_counts.h"

namespace telltale {
namespace {

constexpr size_t kManyTimes = 1024;        // enough to see where the others will lie
constexpr uint64_t kLeastMargin = 256;     // of a window, around the times that open it
constexpr uint64_t kWidestWindow = 16384;  // it stays in the cache
// Counts of a window are numbers of 32 bits.
constexpr uint64_t kMostInWindow = std::numeric_limits<uint32_t>::max() / 2;
constexpr size_t kFewestToCompact = 4096;
constexpr size_t kManyFormulas = 8;

// How far times may lie apart for counting to beat sorting.
constexpr uint64_t CountedRange(size_t count) { return 16 * uint64_t{count} + 4096; }

// std::round() for values from 0 on, without a call.
double Rounded(double value) {
  constexpr double kWhole = 4503599627370496;  // 2^52: all larger values are whole
  if (!(value < kWhole)) return value;
  const auto floor = static_cast<double>(static_cast<int64_t>(value));
  return floor + (value - floor >= 0.5 ? 1 : 0);
}

// Values by rising bandwidth, and how often each came.
class Quantiles {
 public:
  explicit Quantiles(uint64_t n) {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const uint64_t percent = kBandwidthPercents[i];
      wanted_[i] = (n / 100) * percent + ((n % 100) * percent + 99) / 100;
    }
  }
  void Add(double value, uint64_t operations) {
    up_to_ += operations;
    while (next_ < wanted_.size() && wanted_[next_] <= up_to_) values_[next_++] = value;
  }
  const std::array<double, kBandwidthPercents.size()>& values() const { return values_; }

 private:
  std::array<uint64_t, kBandwidthPercents.size()> wanted_{};
  std::array<double, kBandwidthPercents.size()> values_{};
  uint64_t up_to_ = 0;
  size_t next_ = 0;
};

struct Counted {
  double busbw_gbs = 0;
  uint64_t operations = 0;
};

// By rising bandwidth.
BandwidthSummary SummaryOf(const std::vector<Counted>& counted) {
  BandwidthSummary summary;
  double sum = 0;
  for (const Counted& value : counted) {
    summary.n += value.operations;
    sum += value.busbw_gbs * static_cast<double>(value.operations);
  }
  summary.mean = sum / static_cast<double>(summary.n);
  double squares = 0;
  Quantiles quantiles(summary.n);
  for (const Counted& value : counted) {
    const double off = value.busbw_gbs - summary.mean;
    squares += off * off * static_cast<double>(value.operations);
    quantiles.Add(value.busbw_gbs, value.operations);
  }
  summary.quantiles = quantiles.values();
  if (summary.n > 1) summary.stddev = std::sqrt(squares / static_cast<double>(summary.n - 1));
  return summary;
}

}  // namespace

double BandwidthFormula::BusbwGbs(uint32_t exec_time_us) const {
  const double busbw = traffic_bytes / 1e9 / (exec_time_us / 1e6) * bus_factor;
  const double rounded = Rounded(busbw * 1e6) / 1e6;
  return std::isfinite(rounded) ? rounded : busbw;
}

uint32_t BandwidthCounts::NumberOfOther(const BandwidthFormula& formula) {
  if (first_.formula == BandwidthFormula()) {
    first_.formula = formula;
    return 0;
  }
  const auto next = static_cast<uint32_t>(others_.size() + 1);
  if (others_.size() < kManyFormulas) {
    for (uint32_t i = 1; i < next; ++i) {
      if (Of(i).formula == formula) return i;
    }
  } else {
    if (number_of_.empty()) {
      for (uint32_t i = 1; i < next; ++i) number_of_.emplace(Of(i).formula, i);
    }
    const auto [place, is_new] = number_of_.emplace(formula, next);
    if (!is_new) return place->second;
  }
  others_.emplace_back().formula = formula;
  return next;
}

bool BandwidthCounts::empty() const {
  const auto is_empty = [](const OfFormula& of) { return of.times.empty() && of.in_window == 0; };
  return entries_.empty() && is_empty(first_) &&
         std::all_of(others_.begin(), others_.end(), is_empty);
}

void BandwidthCounts::Add(uint32_t formula, uint32_t exec_time_us, uint64_t operations) {
  if (operations == 1) return AddEach(formula, &exec_time_us, 1);
  entries_.push_back({formula, exec_time_us, operations});
  CompactIfMany();
}

void BandwidthCounts::AddEach(uint32_t formula, const uint32_t* exec_time_us, size_t count) {
  if (Of(formula).window.empty()) {
    AddTimes(formula, exec_time_us, count);
  } else {
    AddToWindow(formula, exec_time_us, count);
  }
}

void BandwidthCounts::AddTimes(uint32_t formula, const uint32_t* exec_time_us, size_t count) {
  OfFormula& of = Of(formula);
  for (size_t i = 0; i < count; ++i) {
    if (exec_time_us[i] == 0) continue;
    if (of.times.capacity() == 0) of.times.reserve(kManyTimes);
    of.times.push_back(exec_time_us[i]);
    if (of.times.size() < kManyTimes) continue;
    MoveToWindow(of);
    // Too far apart for a window.
    if (of.times.size() > kManyTimes / 2) CountTimes(formula);
    if (!of.window.empty()) return AddToWindow(formula, exec_time_us + i + 1, count - i - 1);
  }
}

void BandwidthCounts::AddToWindow(uint32_t formula, const uint32_t* exec_time_us, size_t count) {
  OfFormula& of = Of(formula);
  if (of.in_window + count > kMostInWindow) CountWindow(formula);
  uint32_t* window = of.window.data();
  size_t width = of.window.size();
  uint32_t low = of.low;
  size_t outside = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t at = exec_time_us[i] - low;  // of what lies below, and of 0: too large
    if (at < width) {
      ++window[at];
      continue;
    }
    ++outside;
    AddTimes(formula, exec_time_us + i, 1);
    window = of.window.data();
    width = of.window.size();
    low = of.low;
  }
  of.in_window += count - outside;
}

// Opens a window around the times, or widens it to hold them. Those that it still does not hold
// stay in `times`.
void BandwidthCounts::MoveToWindow(OfFormula& of) {
  const auto [least, most] = std::minmax_element(of.times.begin(), of.times.end());
  uint64_t low = *least;
  uint64_t end = uint64_t{*most} + 1;
  if (!of.window.empty()) {
    low = std::min<uint64_t>(low, of.low);
    end = std::max<uint64_t>(end, of.low + of.window.size());
    if (end - low > kWidestWindow) return;
  } else {
    // What follows lies mostly near.
    uint64_t margin = kWidestWindow / 2;
    if (end - low > kWidestWindow) {
      const auto middle = of.times.begin() + static_cast<ptrdiff_t>(of.times.size() / 2);
      std::nth_element(of.times.begin(), middle, of.times.end());
      low = *middle;
      end = low + 1;
    } else {
      margin = std::min(std::max(end - low, kLeastMargin), (kWidestWindow - (end - low)) / 2);
    }
    low -= std::min(low - 1, margin);
    end += margin;
  }
  Widen(of, low, end);
  size_t outside = 0;
  for (const uint32_t time : of.times) {
    if (time - of.low < of.window.size()) {
      ++of.window[time - of.low];
    } else {
      of.times[outside++] = time;
    }
  }
  of.in_window += of.times.size() - outside;
  of.times.resize(outside);
}

// Makes the window [low, end), which holds the one before.
void BandwidthCounts::Widen(OfFormula& of, uint64_t low, uint64_t end) {
  if (low == of.low && end - low == of.window.size()) return;
  std::vector<uint32_t> window(end - low);
  if (!of.window.empty()) {
    std::copy(of.window.begin(), of.window.end(),
              window.begin() + static_cast<ptrdiff_t>(of.low - low));
  }
  of.window = std::move(window);
  of.low = static_cast<uint32_t>(low);
}

// Makes the times entries.
void BandwidthCounts::CountTimes(uint32_t formula) {
  std::vector<uint32_t>& times = Of(formula).times;
  static thread_local TimeCounter counter;
  counter.Count(times, std::identity(), [&](uint32_t exec_time_us, uint32_t operations) {
    entries_.push_back({formula, exec_time_us, operations});
  });
  times.clear();
  CompactIfMany();
}

// Makes what the window counted entries; it stays, empty.
void BandwidthCounts::CountWindow(uint32_t formula) {
  OfFormula& of = Of(formula);
  if (of.in_window == 0) return;
  AddCounts(formula, of.low, of.window);
  std::fill(of.window.begin(), of.window.end(), 0);
  of.in_window = 0;
}

void BandwidthCounts::AddCounts(uint32_t formula, uint32_t low,
                                const std::vector<uint32_t>& counts) {
  ForEachCounted(counts, [&](size_t i) {
    entries_.push_back({formula, static_cast<uint32_t>(low + i), counts[i]});
  });
}

void BandwidthCounts::CompactIfMany() {
  if (entries_.size() < std::max(compact_at_, kFewestToCompact)) return;
  Compact(entries_);
  compact_at_ = 2 * entries_.size();
}

// Sorts by formula and time, and puts equal ones together.
void BandwidthCounts::Compact(std::vector<Entry>& entries) {
  const auto before = [](const Entry& a, const Entry& b) { return a.key() < b.key(); };
  const auto not_before = [](const Entry& a, const Entry& b) { return a.key() >= b.key(); };
  if (std::adjacent_find(entries.begin(), entries.end(), not_before) == entries.end()) return;

  uint32_t low = std::numeric_limits<uint32_t>::max();
  uint32_t high = 0;
  bool one_formula = true;
  for (const Entry& entry : entries) {
    low = std::min(low, entry.exec_time_us);
    high = std::max(high, entry.exec_time_us);
    one_formula &= entry.formula == entries[0].formula;
  }
  const uint64_t range = uint64_t{high} - low + 1;
  // Counting beats sorting where times lie close together.
  if (one_formula && range <= CountedRange(entries.size())) {
    const uint32_t formula = entries[0].formula;
    static thread_local std::vector<uint64_t> counts;
    counts.assign(range, 0);
    for (const Entry& entry : entries) counts[entry.exec_time_us - low] += entry.operations;
    entries.clear();
    for (uint64_t i = 0; i < range; ++i) {
      if (counts[i] > 0) entries.push_back({formula, static_cast<uint32_t>(low + i), counts[i]});
    }
    return;
  }
  std::sort(entries.begin(), entries.end(), before);
  size_t last = 0;
  for (size_t i = 1; i < entries.size(); ++i) {
    if (before(entries[last], entries[i])) {
      entries[++last] = entries[i];
    } else {
      entries[last].operations += entries[i].operations;
    }
  }
  entries.resize(last + 1);
}

void BandwidthCounts::AddCounted(uint32_t formula, const uint32_t* exec_time_us,
                                 const uint32_t* operations, size_t count) {
  if (entries_.empty()) entries_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (exec_time_us[i] > 0) entries_.push_back({formula, exec_time_us[i], operations[i]});
  }
  CompactIfMany();
}

void BandwidthCounts::Add(BandwidthCounts&& other) {
  std::vector<uint32_t> number;  // here of the other's formulas
  for (uint32_t i = 0; i <= other.others_.size(); ++i) {
    number.push_back(NumberOf(other.Of(i).formula));
    AddWindow(number[i], other.Of(i));
    AddEach(number[i], other.Of(i).times.data(), other.Of(i).times.size());
  }
  for (Entry& entry : other.entries_) entry.formula = number[entry.formula];
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  CompactIfMany();
}

void BandwidthCounts::AddWindow(uint32_t formula, OfFormula& other) {
  if (other.in_window == 0) return;
  OfFormula& of = Of(formula);
  if (of.in_window + other.in_window > kMostInWindow) CountWindow(formula);
  if (of.in_window == 0) {
    of.low = other.low;
    of.window = std::move(other.window);
    of.in_window = other.in_window;
    return;
  }
  const uint64_t low = std::min(of.low, other.low);
  const uint64_t end = std::max(of.low + of.window.size(), other.low + other.window.size());
  if (end - low > 2 * kWidestWindow) return AddCounts(formula, other.low, other.window);
  Widen(of, low, end);
  uint32_t* ours = of.window.data() + (other.low - low);
  for (const uint32_t operations : other.window) *ours++ += operations;
  of.in_window += other.in_window;
}

void BandwidthCounts::Gather() {
  for (uint32_t formula = 0; formula <= others_.size(); ++formula) CountTimes(formula);
  Compact(entries_);
  // What windows counted is in order, and mostly all there is.
  const auto counted = static_cast<ptrdiff_t>(entries_.size());
  for (uint32_t formula = 0; formula <= others_.size(); ++formula) CountWindow(formula);
  if (entries_.begin() + counted == entries_.end()) return;
  std::inplace_merge(entries_.begin(), entries_.begin() + counted, entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.key() < b.key(); });
  Compact(entries_);
}

BandwidthSummary BandwidthCounts::Summarise() {
  Gather();
  static thread_local std::vector<Counted> counted;
  counted.clear();
  // Bandwidth falls as time rises.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    counted.push_back(
        {Of(entry->formula).formula.BusbwGbs(entry->exec_time_us), entry->operations});
  }
  if (entries_.front().formula != entries_.back().formula) {
    std::sort(counted.begin(), counted.end(), [](const Counted& a, const Counted& b) {
      return a.busbw_gbs != b.busbw_gbs ? a.busbw_gbs < b.busbw_gbs : a.operations < b.operations;
    });
  }
  return SummaryOf(counted);
}

}  // namespace telltale
