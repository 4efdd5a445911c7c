#pragma once

// How long communication and computation take on the simulated cluster, and what injected faults
// change about that.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "simulate/training_layout.h"
#include "simulate/training_options.h"

namespace telltale::simulate {

// A fault's effect in the steps [from_step, to_step).
struct Effect {
  uint32_t fault;  // index in TrainingOptions::faults
  uint32_t from_step;
  uint32_t to_step;
  double amount;  // slowdown factor, delay in ns, or extra standard deviation
  bool ActiveIn(uint32_t step) const { return from_step <= step && step < to_step; }
};

// The steps of a job of `steps` steps in which `fault` is active.
Effect EffectOf(const Fault& fault, uint32_t index, uint32_t steps, double amount);

class Machine {
 public:
  // Fails if a fault names a rank, host or communicator that the job does not have.
  static Result<Machine> Make(const TrainingOptions& options, const Layout& layout);

  // Without faults and noise; multiplied by the effects' factors where bandwidth is lost.
  struct Duration {
    double latency_ns;
    double transfer_ns;
  };
  Duration Collective(uint32_t communicator, Function function, uint64_t message_bytes) const;
  Duration Transfer(uint32_t from_rank, uint32_t to_rank, uint64_t message_bytes) const;

  // Faults that take bandwidth from a communicator's collectives, or from transfers between two
  // ranks.
  const std::vector<Effect>& CollectiveEffects(uint32_t communicator) const {
    return collective_effects_[communicator];
  }
  bool TransferMayBeSlow() const { return !bandwidth_faults_.empty(); }
  bool SlowsTransfer(uint32_t fault, uint32_t communicator, uint32_t from_rank,
                     uint32_t to_rank) const;
  const std::vector<Effect>& bandwidth_faults() const { return bandwidth_faults_; }

  // Delays before WORLD and DP operations, and extra jitter of computation.
  const std::vector<Effect>& Delays(uint32_t rank) const { return delays_[rank]; }
  const std::vector<Effect>& Jitter(uint32_t rank) const { return jitter_[rank]; }

 private:
  Machine(const TrainingOptions& options, const Layout& layout)
      : options_(&options), layout_(&layout) {}
  Status AddFault(uint32_t index);
  bool SlowsCollectives(const Fault& fault, const Communicator& communicator) const;

  struct Speed {
    double latency_ns;
    double bytes_per_ns;
  };
  const TrainingOptions* options_;
  const Layout* layout_;
  std::vector<Speed> speeds_;
  std::vector<std::vector<Effect>> collective_effects_;
  std::vector<Effect> bandwidth_faults_;
  std::vector<std::vector<Effect>> delays_;
  std::vector<std::vector<Effect>> jitter_;
};

}  // namespace telltale::simulate
