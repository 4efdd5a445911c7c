#include "store/bandwidth_counts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace telltale {
namespace {

constexpr uint64_t kMostDirect = 4096;
constexpr uint32_t kManyNear = 4096;

}  // namespace

double BandwidthFormula::BusbwGbs(uint32_t exec_time_us) const {
  const double busbw = traffic_bytes / 1e9 / (exec_time_us / 1e6) * bus_factor;
  const double rounded = std::round(busbw * 1e6) / 1e6;
  return std::isfinite(rounded) ? rounded : busbw;
}

void TimeTally::AddElsewhere(uint64_t key, uint64_t operations) {
  if (key < kMostDirect && ++near_ > kManyNear) {
    MakeDirect();
    Add(key, operations);
  } else {
    AddHashed(key, operations);
  }
}

void TimeTally::MakeDirect() {
  direct_.resize(kMostDirect);
  std::vector<Slot> old;
  old.swap(slots_);
  hashed_ = 0;
  for (const Slot& slot : old) {
    if (slot.key != 0) Add(slot.key, slot.operations);
  }
}

void TimeTally::AddHashed(uint64_t key, uint64_t operations) {
  if (hashed_ * 4 >= slots_.size() * 3) Grow();
  Slot& slot = SlotOf(key);
  if (slot.key == 0) {
    slot.key = key;
    ++hashed_;
  }
  slot.operations += operations;
}

TimeTally::Slot& TimeTally::SlotOf(uint64_t key) {
  const size_t mask = slots_.size() - 1;
  // The low bits of times are spread well enough by a multiplication (Fibonacci hashing).
  size_t at = static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & mask;
  while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
  return slots_[at];
}

void TimeTally::Grow() {
  constexpr size_t kFirstSize = 16;
  std::vector<Slot> old(std::max(slots_.size() * 2, kFirstSize));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != 0) SlotOf(slot.key) = slot;
  }
}

uint32_t BandwidthCounts::NumberOf(const BandwidthFormula& formula) {
  if (last_ < formulas_.size() && formulas_[last_] == formula) return last_;
  const auto found = std::find(formulas_.begin(), formulas_.end(), formula);
  last_ = static_cast<uint32_t>(found - formulas_.begin());
  if (found == formulas_.end()) formulas_.push_back(formula);
  return last_;
}

void BandwidthCounts::Add(const BandwidthCounts& other) {
  other.tally_.ForEach([&](uint64_t key, uint64_t operations) {
    Add(NumberOf(other.formulas_[key >> 32]), static_cast<uint32_t>(key), operations);
  });
}

// Ascending by bandwidth.
std::vector<BandwidthCounts::Counted> BandwidthCounts::Sorted() const {
  std::vector<Counted> sorted;
  sorted.reserve(tally_.size());
  if (formulas_.size() == 1) {
    // Bandwidth falls as time rises, and integers sort faster.
    std::vector<std::pair<uint32_t, uint64_t>> times;
    times.reserve(tally_.size());
    tally_.ForEach([&](uint64_t key, uint64_t operations) {
      times.emplace_back(static_cast<uint32_t>(key), operations);
    });
    std::sort(times.begin(), times.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [time, operations] : times) {
      sorted.push_back({formulas_[0].BusbwGbs(time), operations});
    }
    return sorted;
  }
  tally_.ForEach([&](uint64_t key, uint64_t operations) {
    sorted.push_back({formulas_[key >> 32].BusbwGbs(static_cast<uint32_t>(key)), operations});
  });
  std::sort(sorted.begin(), sorted.end(), [](const Counted& a, const Counted& b) {
    return a.busbw_gbs != b.busbw_gbs ? a.busbw_gbs < b.busbw_gbs : a.operations < b.operations;
  });
  return sorted;
}

BandwidthSummary BandwidthCounts::Summarise() const {
  const std::vector<Counted> sorted = Sorted();
  BandwidthSummary summary;
  double sum = 0;
  for (const Counted& value : sorted) {
    summary.n += value.operations;
    sum += value.busbw_gbs * static_cast<double>(value.operations);
  }
  const uint64_t n = summary.n;
  summary.mean = sum / static_cast<double>(n);
  double squares = 0;
  for (const Counted& value : sorted) {
    const double off = value.busbw_gbs - summary.mean;
    squares += off * off * static_cast<double>(value.operations);
  }
  if (n > 1) summary.stddev = std::sqrt(squares / static_cast<double>(n - 1));
  size_t at = 0;
  uint64_t up_to = sorted[0].operations;  // operations that are no faster than sorted[at]
  for (size_t i = 0; i < kBandwidthPercents.size(); ++i) {
    const uint64_t percent = kBandwidthPercents[i];
    const uint64_t wanted = (n / 100) * percent + ((n % 100) * percent + 99) / 100;
    while (up_to < wanted && at + 1 < sorted.size()) up_to += sorted[++at].operations;
    summary.quantiles[i] = sorted[at].busbw_gbs;
  }
  return summary;
}

}  // namespace telltale
