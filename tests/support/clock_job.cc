#include "tests/support/clock_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace telltale::test {
namespace {

constexpr int64_t kBeginNs = 1'760'000'000'000'000'000;

double Uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

}  // namespace

ClockJob::ClockJob(const ClockJobOptions& options, uint64_t seed)
    : options_(options), random_(seed) {
  for (uint32_t i = 0; i < options.hosts; ++i) {
    evidence_.hosts.push_back("node" + std::to_string(i));
    offset_ns_.push_back(Uniform(random_, -1e9, 1e9));
    drift_.push_back(Uniform(random_, -1e-4, 1e-4));
  }
  for (size_t i = 0; i < options.operations; ++i) {
    const long double time = options.seconds * 1e9L * static_cast<long double>(i) /
                             static_cast<long double>(options.operations);
    std::vector<uint32_t> hosts;
    const bool is_of_neighbours = options.overlapping_groups && i % 4 != 0 && options.hosts > 2;
    const auto first = static_cast<uint32_t>(random_() % options.hosts);
    const uint32_t count = is_of_neighbours ? 2 : options.hosts;
    // A chain: the last host and the first are no neighbours.
    const uint32_t from = is_of_neighbours ? std::min(first, options.hosts - 2) : 0;
    for (uint32_t j = 0; j < count; ++j) hosts.push_back(from + j);
    AddOperation(i, hosts, time);
  }
  if (options.swapped_part > 0) SwapRecords();
}

long double ClockJob::Reading(uint32_t host, long double true_ns) const {
  long double reading = true_ns + offset_ns_[host] + drift_[host] * true_ns;
  const long double step_at = options_.seconds * 1e9L * options_.step_at_part;
  if (host == 1 && true_ns >= step_at) reading += options_.step_seconds * 1e9L;
  if (host == 1) {
    const auto turn = static_cast<double>(true_ns / (options_.seconds * 1e9L)) * 20 * M_PI;
    reading += options_.wander_us * 1000 * std::sin(turn);
  }
  return reading;
}

int64_t ClockJob::Recorded(uint32_t host, long double true_ns) const {
  const auto reading = kBeginNs + static_cast<int64_t>(std::floor(Reading(host, true_ns)));
  return reading - reading % options_.resolution_ns;
}

long double ClockJob::Offset(uint32_t host, uint32_t reference, int64_t time_ns) const {
  const auto reading = static_cast<long double>(time_ns - kBeginNs);
  // The reference is never set in these tests.
  const long double true_ns = (reading - offset_ns_[reference]) / (1 + drift_[reference]);
  return Reading(host, true_ns) - reading;
}

int64_t ClockJob::TimeAt(uint32_t reference, double part) const {
  return kBeginNs +
         static_cast<int64_t>(std::llround(Reading(reference, options_.seconds * 1e9L * part)));
}

void ClockJob::AddOperation(uint64_t operation, const std::vector<uint32_t>& hosts,
                            long double time_ns) {
  std::exponential_distribution<double> wait(1 / (options_.wait_us * 1000));
  std::vector<long double> starts;
  for (size_t i = 0; i < hosts.size() * options_.ranks_per_host; ++i) {
    starts.push_back(time_ns + wait(random_));
  }
  const long double all_there = *std::max_element(starts.begin(), starts.end());
  const double transfer = options_.transfer_us * 1000 * Uniform(random_, 1, 2);
  transfer_sum_ns_ += transfer;
  ++transfers_;
  for (size_t i = 0; i < starts.size(); ++i) {
    const uint32_t host = hosts[i / options_.ranks_per_host];
    const long double end = all_there + transfer * Uniform(random_, 1, 1.2);
    if (Uniform(random_, 0, 1) < options_.lost_part) continue;
    evidence_.sightings.push_back(
        {operation, host, Recorded(host, starts[i]), Recorded(host, end)});
  }
}

// Gives records of a later operation for those of one, as a matching that lost
// count does.
void ClockJob::SwapRecords() {
  std::map<std::pair<uint64_t, uint32_t>, size_t> place;
  auto& sightings = evidence_.sightings;
  for (size_t i = 0; i < sightings.size(); ++i) {
    place[{sightings[i].operation, sightings[i].host}] = i;
  }
  for (const auto& [key, at] : place) {
    if (Uniform(random_, 0, 1) >= options_.swapped_part) continue;
    const auto other = place.find({key.first + 1 + random_() % 8, key.second});
    if (other == place.end()) continue;
    sightings[at].start_ns = sightings[other->second].start_ns;
    sightings[at].end_ns = sightings[other->second].end_ns;
  }
}

}  // namespace telltale::test
