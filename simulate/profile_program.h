#pragma once

// What runs in a simulated profile, in the order in which events begin.

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/profile.h"

namespace telltale::simulate {

enum class ProfileKind { kAnnotation, kPython, kOperator, kCall, kKernel };

struct ProfileEvent {
  ProfileKind kind = ProfileKind::kOperator;
  const std::string* name = nullptr;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t number = 0;       // of an operator: external id; of a call or kernel: correlation id
  uint64_t operator_id = 0;  // of a call or kernel: the operator above it
  uint32_t stream = 7;
  uint64_t step = 0;  // of an annotation
};

// Makes the events of one step after the other.
class ProfileProgram {
 public:
  explicit ProfileProgram(const ProfileOptions& options);

  // Events of the next step; host events come when they begin, kernels right behind their call.
  const std::vector<ProfileEvent>& NextStep();

 private:
  void Operator(const std::string& name, int kernels, bool communication);
  void Kernel(bool communication);
  size_t Open(ProfileKind kind, const std::string* name);
  void Close(size_t event);
  int64_t Draw(int64_t least_ns, int64_t spread_ns);

  const ProfileOptions& options_;
  std::vector<std::string> kernel_names_, python_names_;
  std::vector<ProfileEvent> events_;
  int64_t now_ns_ = 0;
  int64_t compute_free_ns_ = 0;
  int64_t communication_free_ns_ = 0;
  uint64_t next_id_ = 1;
  uint64_t operator_id_ = 0;
  uint64_t step_ = 0;
  uint64_t draws_ = 0;
};

}  // namespace telltale::simulate
