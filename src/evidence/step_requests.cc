#include "evidence/step_requests.h"

#include <algorithm>
#include <numeric>

namespace telltale::evidence {
namespace {

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? kOpenEnd : -kOpenEnd;
  return sum;
}

struct Candidate {
  uint32_t request = 0;
  bool may_generate = false;
  bool may_prefill = false;
  bool is_certain = false;
};

class Relater {
 public:
  Relater(const std::vector<EngineStep>& steps, const std::vector<RequestWindow>& requests,
          const RelateOptions& options)
      : steps_(steps), requests_(requests), options_(options) {}

  Relation Run();

 private:
  bool Touches(const TimeRange& range, const EngineStep& step) const {
    // A request is taken into a step when that begins.
    return Plus(step.start_ns, options_.error_ns) >= range.from_ns &&
           Plus(step.start_ns, -options_.error_ns) <= range.to_ns;
  }
  bool Within(const TimeRange& range, const EngineStep& step) const {
    return range.from_ns <= range.to_ns &&
           Plus(step.start_ns, -options_.error_ns) >= range.from_ns &&
           Plus(Plus(step.start_ns, step.duration_ns), options_.error_ns) <= range.to_ns;
  }
  // Whether a stage and the step are mostly at the same time.
  bool HasStage(const std::vector<TimeRange>& stages, const EngineStep& step) const;
  Candidate Consider(uint32_t request, const EngineStep& step) const;
  int64_t Sequences(const std::vector<Candidate>& candidates, bool generating) const;
  std::vector<Candidate> CertainOf(const std::vector<Candidate>& candidates) const;
  bool AreAllNeeded(const std::vector<Candidate>& candidates, const EngineStep& step) const;
  // Calls visit(step, candidates) for each; of more than most_candidates, perhaps not all.
  template <typename Visit>
  void ForEachStep(const Visit& visit) const;
  void RelateStep(uint32_t step, const std::vector<Candidate>& candidates, Relation& relation);
  void AddExact(uint32_t step, const std::vector<Candidate>& candidates, bool phases_known,
                Relation& relation) const;
  void AddWindow(uint32_t step, const std::vector<Candidate>& candidates, Relation& relation) const;

  const std::vector<EngineStep>& steps_;
  const std::vector<RequestWindow>& requests_;
  const RelateOptions& options_;
  bool is_complete_ = true;  // no step had more requests than are known
};

bool Relater::HasStage(const std::vector<TimeRange>& stages, const EngineStep& step) const {
  const int64_t end_ns = Plus(step.start_ns, step.duration_ns);
  const auto after = std::upper_bound(
      stages.begin(), stages.end(), Plus(end_ns, options_.error_ns),
      [](int64_t time_ns, const TimeRange& stage) { return time_ns < stage.from_ns; });
  // Stages of one request follow each other: only the last ones before the end reach it.
  constexpr std::ptrdiff_t kLook = 64;
  auto stage = after - std::min(kLook, after - stages.begin());
  for (; stage != after; ++stage) {
    const int64_t shared = std::min(Plus(stage->to_ns, options_.error_ns), end_ns) -
                           std::max(Plus(stage->from_ns, -options_.error_ns), step.start_ns);
    if (shared >= step.duration_ns / 2) return true;
  }
  return false;
}

Candidate Relater::Consider(uint32_t index, const EngineStep& step) const {
  const RequestWindow& request = requests_[index];
  Candidate candidate{index};
  if (request.has_stages) {
    candidate.may_generate =
        step.batch.generation_requests.value_or(1) > 0 && HasStage(request.generation_stages, step);
    candidate.may_prefill =
        step.batch.context_requests.value_or(1) > 0 && HasStage(request.context_stages, step);
    candidate.is_certain = candidate.may_generate || candidate.may_prefill;
    return candidate;
  }
  const bool is_active = Touches(request.active, step);
  // One that was pre-empted is prefilled again, also after its first token.
  candidate.may_prefill = is_active && step.batch.context_requests.value_or(1) > 0 &&
                          (options_.may_preempt || Touches(request.prefill, step));
  candidate.may_generate = is_active && step.batch.generation_requests.value_or(1) > 0 &&
                           Touches(request.generation, step);
  // Engines may leave those that generate out of a step that only computes prompts.
  candidate.is_certain = candidate.may_generate && Within(request.certain, step);
  return candidate;
}

int64_t Relater::Sequences(const std::vector<Candidate>& candidates, bool generating) const {
  int64_t count = 0;
  for (const Candidate& candidate : candidates) {
    if (generating && !candidate.may_generate) continue;
    count = Plus(count, requests_[candidate.request].sequences);
  }
  return count;
}

// Shares where they follow: a request that generates has one token for each sequence; one that is
// prefilled alone has the rest.
void Relater::AddExact(uint32_t index, const std::vector<Candidate>& candidates, bool phases_known,
                       Relation& relation) const {
  const StepBatch& batch = steps_[index].batch;
  const int64_t generated = batch.generation_tokens.value_or(*batch.generation_requests);
  const bool one_each = generated == *batch.generation_requests;
  const auto context_tokens = batch.context_tokens;
  const double total = context_tokens ? static_cast<double>(*context_tokens + generated) : -1;
  for (const Candidate& candidate : candidates) {
    StepRequest pair{index, candidate.request, RelationBasis::kExact, -1, -1};
    const bool generates = phases_known ? candidate.may_generate : *batch.context_requests == 0;
    const bool prefills = phases_known ? !candidate.may_generate : *batch.generation_requests == 0;
    // How many sequences are left of a request that had several, the step does not say.
    const bool is_alone = candidates.size() == 1;
    if (generates && one_each && (is_alone || requests_[candidate.request].sequences == 1)) {
      pair.tokens = is_alone ? generated : 1;
    } else if (prefills && *batch.context_requests == 1 && context_tokens) {
      pair.tokens = *context_tokens;
    }
    if (pair.tokens >= 0 && total > 0) pair.share = static_cast<double>(pair.tokens) / total;
    relation.pairs.push_back(pair);
  }
}

void Relater::AddWindow(uint32_t index, const std::vector<Candidate>& candidates,
                        Relation& relation) const {
  const auto requests = steps_[index].batch.Requests();
  const double chance =
      requests
          ? std::min(1.0, static_cast<double>(*requests) / static_cast<double>(std::max<int64_t>(
                                                               1, Sequences(candidates, false))))
          : -1;
  for (const Candidate& candidate : candidates) {
    relation.pairs.push_back({index, candidate.request, RelationBasis::kWindow, chance, -1});
  }
}

std::vector<Candidate> Relater::CertainOf(const std::vector<Candidate>& candidates) const {
  std::vector<Candidate> certain;
  for (const Candidate& candidate : candidates) {
    if (candidate.is_certain) certain.push_back(candidate);
  }
  return certain;
}

// Whether none of them can be left out: without any one of them, even with all their sequences,
// they would be too few.
bool Relater::AreAllNeeded(const std::vector<Candidate>& candidates, const EngineStep& step) const {
  const int64_t requests = *step.batch.Requests();
  int64_t fewest = requests;
  for (const Candidate& candidate : candidates) {
    const RequestWindow& request = requests_[candidate.request];
    if (request.is_loose || step.start_ns > request.loose_after_ns) return false;
    fewest = std::min(fewest, requests_[candidate.request].sequences);
  }
  const int64_t all = Sequences(candidates, false);
  return !candidates.empty() && all >= requests && all - fewest < requests;
}

void Relater::RelateStep(uint32_t index, const std::vector<Candidate>& candidates,
                         Relation& relation) {
  const StepBatch& batch = steps_[index].batch;
  if (candidates.size() > options_.most_candidates) {
    ++relation.steps_open;
    return;
  }
  const auto requests = batch.Requests();
  if (!requests || relation.steps_contradictory > 0) {
    return AddWindow(index, candidates, relation);
  }
  if (*requests == 0) return;
  const std::vector<Candidate> certain = CertainOf(candidates);
  const bool may_be_certain = !options_.has_other_engines;
  const bool all_certain = may_be_certain && certain.size() == candidates.size();
  if ((is_complete_ || all_certain) && AreAllNeeded(candidates, steps_[index])) {
    // Those that generate are among those that may: where these are as many, the others are
    // prefilled.
    const bool phases_known = Sequences(candidates, true) == *batch.generation_requests;
    return AddExact(index, candidates, phases_known, relation);
  }
  // Where nothing is pre-empted, those that were at work for certain were in the step: if they are
  // as many as it had, nobody else was. Each was there with one sequence at least.
  const bool are_all = is_complete_ && may_be_certain && !options_.may_preempt &&
                       static_cast<int64_t>(certain.size()) == *requests;
  if (!are_all) return AddWindow(index, candidates, relation);
  AddExact(index, certain, Sequences(certain, true) == *batch.generation_requests, relation);
}

template <typename Visit>
void Relater::ForEachStep(const Visit& visit) const {
  // So many requests at once that none would be named: they are not looked at one by one.
  constexpr size_t kMostOpen = 8192;
  std::vector<uint32_t> by_begin(requests_.size());
  std::iota(by_begin.begin(), by_begin.end(), 0U);
  std::sort(by_begin.begin(), by_begin.end(), [&](uint32_t a, uint32_t b) {
    return requests_[a].active.from_ns < requests_[b].active.from_ns;
  });
  std::vector<uint32_t> open;
  std::vector<Candidate> candidates;
  size_t next = 0;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    const EngineStep& step = steps_[i];
    while (next < by_begin.size() &&
           requests_[by_begin[next]].active.from_ns <= Plus(step.start_ns, options_.error_ns)) {
      open.push_back(by_begin[next++]);
    }
    constexpr uint32_t kSweep = 64;
    if (open.size() <= kMostOpen || i % kSweep == 0) {
      std::erase_if(open, [&](uint32_t request) {
        return requests_[request].active.to_ns < Plus(step.start_ns, -options_.error_ns);
      });
    }
    candidates.clear();
    if (open.size() > kMostOpen) {
      for (size_t k = 0; k <= options_.most_candidates; ++k) {
        candidates.push_back({open[k], true, true, false});
      }
      visit(i, candidates);
      continue;
    }
    for (const uint32_t request : open) {
      const Candidate candidate = Consider(request, step);
      if (candidate.may_generate || candidate.may_prefill) candidates.push_back(candidate);
    }
    visit(i, candidates);
  }
}

Relation Relater::Run() {
  Relation relation;
  ForEachStep([&](uint32_t step, const std::vector<Candidate>& candidates) {
    const auto requests = steps_[step].batch.Requests();
    if (!requests || candidates.size() > options_.most_candidates) return;
    int64_t known = 0;
    for (const Candidate& candidate : candidates) {
      const RequestWindow& request = requests_[candidate.request];
      if (!request.is_loose) known = Plus(known, request.sequences);
    }
    if (known < *requests) ++relation.steps_short;
    const auto certain = static_cast<int64_t>(CertainOf(candidates).size());
    if (!options_.may_preempt && !options_.has_other_engines && certain > *requests) {
      ++relation.steps_contradictory;
    }
  });
  is_complete_ = relation.steps_short == 0;
  ForEachStep([&](uint32_t step, const std::vector<Candidate>& candidates) {
    RelateStep(step, candidates, relation);
  });
  return relation;
}

}  // namespace

const char* RelationBasisName(RelationBasis basis) {
  switch (basis) {
    case RelationBasis::kId:
      return "id";
    case RelationBasis::kExact:
      return "exact";
    default:
      return "window";
  }
}

Relation RelateByTime(const std::vector<EngineStep>& steps,
                      const std::vector<RequestWindow>& requests, const RelateOptions& options) {
  return Relater(steps, requests, options).Run();
}

}  // namespace telltale::evidence
