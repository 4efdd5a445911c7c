#pragma once

// Everything that can be missing or odd in Inspector data, declared once: what it is called,
// whether it counts lines of the file, and what it does to answers. docs and `telltale losses` are
// made from this.

#include <span>

namespace telltale::nccl_inspector {

enum class LossClass {
  kLine,       // lines of the file that are not rows
  kOperation,  // operations that happened and have no record
  kNote,       // nothing is lost by it, but it should be known
};
const char* LossClassName(LossClass loss_class);

struct LossKind {
  const char* name;
  LossClass loss_class;
  const char* effect;
};

// Lines.
extern const LossKind kBlankLine, kInvalidJson, kCutLastLine, kLineTooLong, kUnknownRecord,
    kMissingField, kInvalidValue, kNoMarker;
// Operations.
extern const LossKind kRingOverwrite, kSampledProducer, kSequenceGapLost, kSequenceGapFiltered,
    kMissingRank, kLastInterval, kProxyDropped, kEmptyFile, kCutFile;
// Notes.
extern const LossKind kNewerVersion, kUnknownKey, kIncompleteDump, kDuplicateRecord,
    kDamagedCompression, kSharedCommunicatorId, kAmbiguousCommunicator, kInvalidOperation,
    kUnknownDataType, kZeroTime, kManySizes, kSameProcessTwice;

std::span<const LossKind* const> AllLossKinds();

}  // namespace telltale::nccl_inspector
