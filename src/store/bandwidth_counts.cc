#include "store/bandwidth_counts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace telltale {
namespace {

constexpr size_t kManyTimes = 8192;  // they and their counts stay in the cache
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
  others_.push_back({formula, {}});
  return next;
}

bool BandwidthCounts::empty() const {
  return entries_.empty() && first_.times.empty() &&
         std::all_of(others_.begin(), others_.end(),
                     [](const auto& of) { return of.times.empty(); });
}

void BandwidthCounts::Add(uint32_t formula, uint32_t exec_time_us, uint64_t operations) {
  if (operations == 1) return AddEach(formula, &exec_time_us, 1);
  entries_.push_back({formula, exec_time_us, operations});
  CompactIfMany();
}

void BandwidthCounts::AddEach(uint32_t formula, const uint32_t* exec_time_us, size_t count) {
  std::vector<uint32_t>& times = Of(formula).times;
  const uint32_t* const end = exec_time_us + count;
  // Many bins stay small; what does not grows at once to all that it may hold.
  constexpr size_t kFewTimes = 512;
  if (times.size() + count > times.capacity() && times.size() + count > kFewTimes) {
    times.reserve(kManyTimes);
  } else if (times.capacity() == 0) {
    times.reserve(kFewTimes);
  }
  while (exec_time_us != end) {
    const auto room = static_cast<ptrdiff_t>(kManyTimes - times.size());
    const uint32_t* const next = exec_time_us + std::min(room, end - exec_time_us);
    if (std::count(exec_time_us, next, 0U) == 0) {
      times.insert(times.end(), exec_time_us, next);
    } else {
      std::copy_if(exec_time_us, next, std::back_inserter(times),
                   [](auto time) { return time > 0; });
    }
    exec_time_us = next;
    if (times.size() == kManyTimes) CountTimes(formula);
  }
}

void BandwidthCounts::CountTimes(uint32_t formula) {
  std::vector<uint32_t>& times = Of(formula).times;
  if (times.empty()) return;
  uint32_t low = std::numeric_limits<uint32_t>::max();
  uint32_t high = 0;
  for (const uint32_t time : times) {
    low = std::min(low, time);
    high = std::max(high, time);
  }
  static thread_local std::vector<uint32_t> counts;
  counts.assign(std::min(uint64_t{high} - low + 1, CountedRange(times.size())), 0);
  size_t far = 0;  // those too far from the others to be counted are moved to the front
  for (const uint32_t time : times) {
    if (time - low < counts.size()) {
      ++counts[time - low];
    } else {
      times[far++] = time;
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) entries_.push_back({formula, static_cast<uint32_t>(low + i), counts[i]});
  }
  for (size_t i = 0; i < far; ++i) entries_.push_back({formula, times[i], 1});
  times.clear();
  CompactIfMany();
}

void BandwidthCounts::CompactIfMany() {
  if (entries_.size() < std::max(compact_at_, kFewestToCompact)) return;
  Compact(entries_);
  compact_at_ = 2 * entries_.size();
}

// Sorts by formula and time, and puts equal ones together.
void BandwidthCounts::Compact(std::vector<Entry>& entries) {
  const auto before = [](const Entry& a, const Entry& b) {
    return std::tie(a.formula, a.exec_time_us) < std::tie(b.formula, b.exec_time_us);
  };
  const auto not_before = [&](const Entry& a, const Entry& b) { return !before(a, b); };
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
    const OfFormula& of = other.Of(i);
    number.push_back(NumberOf(of.formula));
    AddEach(number[i], of.times.data(), of.times.size());
  }
  for (Entry& entry : other.entries_) entry.formula = number[entry.formula];
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  CompactIfMany();
}

void BandwidthCounts::Gather() {
  for (uint32_t formula = 0; formula <= others_.size(); ++formula) CountTimes(formula);
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
