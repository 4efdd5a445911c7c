#include "readers/nccl_inspector/loss_kinds.h"

#include <array>

namespace telltale::nccl_inspector {

const char* LossClassName(LossClass loss_class) {
  switch (loss_class) {
    case LossClass::kLine:
      return "line";
    case LossClass::kOperation:
      return "operation";
    case LossClass::kNote:
      break;
  }
  return "note";
}

const LossKind kBlankLine = {"blank_line", LossClass::kLine, "none: the line holds nothing"};
const LossKind kInvalidJson = {
    "invalid_json", LossClass::kLine,
    "the record on this line is missing (a comm_name with a control character makes such lines)"};
const LossKind kCutLastLine = {"cut_last_line", LossClass::kLine,
                               "the process was killed while it wrote: the record on this line and "
                               "all later ones are missing"};
const LossKind kLineTooLong = {"line_too_long", LossClass::kLine,
                               "the line is longer than any record can be and was not read"};
const LossKind kUnknownRecord = {"unknown_record", LossClass::kLine,
                                 "a kind of line that this version does not know"};
const LossKind kMissingField = {"missing_field", LossClass::kLine,
                                "a record without the fields that place it"};
const LossKind kInvalidValue = {"invalid_value", LossClass::kLine,
                                "a record with a value of the wrong type or range"};
const LossKind kNoMarker = {
    "no_marker", LossClass::kLine,
    "a record without header whose dump_stats line is missing: its communicator is not known"};

const LossKind kRingOverwrite = {
    "ring_overwrite", LossClass::kOperation,
    "the producer overwrote records before they were written; raise the ring size or shorten the "
    "interval"};
const LossKind kSampledProducer = {
    "sampled_producer", LossClass::kOperation,
    "NCCL before 2.30 keeps one record per communicator and dump: counts and bytes are a sample"};
const LossKind kSequenceGapLost = {"sequence_gap_lost", LossClass::kOperation,
                                   "operations that other ranks recorded are missing here"};
const LossKind kSequenceGapFiltered = {"sequence_gap_filtered", LossClass::kOperation,
                                       "operations missing on all ranks although the ring was not "
                                       "full: below the producer's minimum size "
                                       "(8192 bytes unless set) or without kernel timing"};
const LossKind kMissingRank = {
    "missing_rank", LossClass::kOperation,
    "no file of these ranks of the communicator: nothing of them is known"};
const LossKind kLastInterval = {"last_interval", LossClass::kOperation,
                                "the last operations of this rank, which other ranks recorded, "
                                "were not written before it ended"};
const LossKind kProxyDropped = {"proxy_dropped", LossClass::kOperation,
                                "network proxy records were dropped by the producer"};
const LossKind kEmptyFile = {"empty_file", LossClass::kOperation,
                             "the process wrote no record (check interval, minimum size and kernel "
                             "timing with `telltale doctor`)"};
const LossKind kCutFile = {
    "cut_file", LossClass::kOperation,
    "the file ends in the middle of a line: what the process did later is missing"};

const LossKind kNewerVersion = {"newer_version", LossClass::kNote,
                                "format version newer than this reader: read as far as understood"};
const LossKind kUnknownKey = {"unknown_key", LossClass::kNote,
                              "a key that this version does not know"};
const LossKind kIncompleteDump = {"incomplete_dump", LossClass::kNote,
                                  "fewer records follow a dump_stats line than it announces"};
const LossKind kDuplicateRecord = {
    "duplicate_record", LossClass::kNote,
    "the same operation of the same rank more than once: two communicators may share an id"};
const LossKind kDamagedCompression = {"damaged_compression", LossClass::kNote,
                                      "compressed data ended early: what followed is missing"};
const LossKind kSharedCommunicatorId = {
    "shared_communicator_id", LossClass::kNote,
    "communicators share an id (14 digits of the hash); told apart by name, size and ranks"};
const LossKind kAmbiguousCommunicator = {
    "ambiguous_communicator", LossClass::kNote,
    "communicators share id, name and size, and the files do not say which ranks belong together"};
const LossKind kInvalidOperation = {"invalid_operation", LossClass::kNote,
                                    "operations that the producer did not know (\"Invalid\"): no "
                                    "bandwidth, left out of its statistics"};
const LossKind kUnknownDataType = {"unknown_data_type", LossClass::kNote,
                                   "size is 2^64 - n: the producer did not know the data type, n "
                                   "is the element count; left out of "
                                   "bytes and bandwidth"};
const LossKind kZeroTime = {
    "zero_time", LossClass::kNote,
    "execution time 0: under a microsecond or not measured; left out of bandwidth"};
const LossKind kManySizes = {"many_sizes", LossClass::kNote,
                             "more different sizes than are kept apart; records are stored whole"};
const LossKind kSameProcessTwice = {"same_process_twice", LossClass::kNote,
                                    "more than one file of the same host and pid: a restart, or a "
                                    "copy; ranks may be counted twice"};

namespace {
constexpr std::array<const LossKind*, 29> kAll = {&kBlankLine,
                                                  &kInvalidJson,
                                                  &kCutLastLine,
                                                  &kLineTooLong,
                                                  &kUnknownRecord,
                                                  &kMissingField,
                                                  &kInvalidValue,
                                                  &kNoMarker,
                                                  &kRingOverwrite,
                                                  &kSampledProducer,
                                                  &kSequenceGapLost,
                                                  &kSequenceGapFiltered,
                                                  &kMissingRank,
                                                  &kLastInterval,
                                                  &kProxyDropped,
                                                  &kEmptyFile,
                                                  &kCutFile,
                                                  &kNewerVersion,
                                                  &kUnknownKey,
                                                  &kIncompleteDump,
                                                  &kDuplicateRecord,
                                                  &kDamagedCompression,
                                                  &kSharedCommunicatorId,
                                                  &kAmbiguousCommunicator,
                                                  &kInvalidOperation,
                                                  &kUnknownDataType,
                                                  &kZeroTime,
                                                  &kManySizes,
                                                  &kSameProcessTwice};
}  // namespace

std::span<const LossKind* const> AllLossKinds() { return kAll; }

}  // namespace telltale::nccl_inspector
