#include <xxhash.h>
#include <zstd.h>

#include "tokens/encoded_steps.h"

namespace telltale::tokens {
namespace {

constexpr std::string_view kMagic = "telltale steps\n";
constexpr uint64_t kVersion = 1;
constexpr int kLevel = 6;
constexpr size_t kDigestBytes = 8;
constexpr const char* kDamaged =
    "it is damaged or cut off; encode the steps again, or copy the file again";

void AppendText(std::string& out, std::string_view text) {
  AppendNumber(out, text.size());
  out += text;
}

std::string Content(const EncodedSteps& steps) {
  std::string out(kMagic);
  AppendNumber(out, kVersion);
  AppendText(out, steps.vocabulary_digest);
  AppendNumber(out, steps.other_labels.size());
  for (const Label& label : steps.other_labels) {
    AppendNumber(out, static_cast<uint64_t>(label.kind));
    AppendNumber(out, static_cast<uint64_t>(label.basis));
    AppendNumber(out, static_cast<uint64_t>(label.place));
    AppendText(out, label.text);
  }
  AppendNumber(out, steps.first_names.size());
  for (const uint32_t name : steps.first_names) {
    AppendNumber(out, name == kNone ? 0 : uint64_t{name} + 1);
  }
  AppendNumber(out, steps.names.size());
  for (const std::string& name : steps.names) AppendText(out, name);
  AppendNumber(out, steps.tracks.size());
  for (const TreeTrack& track : steps.tracks) {
    AppendNumber(out, track.is_stream ? 1 : 0);
    AppendText(out, track.label);
  }
  AppendNumber(out, steps.steps.size());
  for (const EncodedStep& step : steps.steps) {
    AppendNumber(out, step.number);
    AppendNumber(out, step.nodes);
    AppendNumber(out, step.symbols);
    AppendNumber(out, step.spelled_labels);
    AppendNumber(out, step.name_corrections);
    AppendNumber(out, step.novel_nodes);
    for (const std::string& column : step.columns) AppendNumber(out, column.size());
  }
  // What is alike lies together, which compresses best.
  for (size_t i = 0; i < kColumns; ++i) {
    for (const EncodedStep& step : steps.steps) out += step.columns[i];
  }
  const uint64_t digest = XXH3_64bits(out.data(), out.size());
  for (size_t i = 0; i < kDigestBytes; ++i) out += static_cast<char>(digest >> (8 * i));
  return out;
}

bool HasItsDigest(std::string_view content) {
  if (content.size() < kDigestBytes) return false;
  const std::string_view digest = content.substr(content.size() - kDigestBytes);
  uint64_t expected = XXH3_64bits(content.data(), content.size() - kDigestBytes);
  for (const char byte : digest) {
    if (static_cast<unsigned char>(byte) != (expected & 0xff)) return false;
    expected >>= 8;
  }
  return true;
}

class ContentReader {
 public:
  explicit ContentReader(std::string_view content) : reader_(content) {}

  Result<EncodedSteps> Read() {
    (void)reader_.Bytes(kMagic.size());
    if (const uint64_t version = reader_.Next(); reader_.ok() && version != kVersion) {
      return Fail("its format is version {}, and this version of telltale knows {}", version,
                  kVersion);
    }
    steps_.vocabulary_digest = Text();
    ReadTables();
    ReadSteps();
    if (!reader_.ok() || !reader_.AtEnd() || !ok_) return Fail("{}", kDamaged);
    return std::move(steps_);
  }

 private:
  std::string Text() { return std::string(reader_.Bytes(reader_.Next())); }
  // So many of at least a byte each follow.
  size_t Count() {
    const uint64_t count = reader_.Next();
    ok_ = ok_ && count <= reader_.left();
    return ok_ ? static_cast<size_t>(count) : 0;
  }
  uint32_t Small(uint64_t below) {
    const uint64_t value = reader_.Next();
    ok_ = ok_ && value < below;
    return ok_ ? static_cast<uint32_t>(value) : 0;
  }

  void ReadTables() {
    for (size_t i = Count(); i > 0 && ok_; --i) {
      Label label;
      label.kind = static_cast<EventKind>(Small(trace::kEventKinds));
      label.basis = static_cast<ParentBasis>(Small(4));
      label.place = static_cast<Place>(Small(3));
      label.text = Text();
      steps_.other_labels.push_back(std::move(label));
    }
    for (size_t i = Count(); i > 0 && ok_; --i) {
      const uint32_t name = Small(kMany);
      steps_.first_names.push_back(name == 0 ? kNone : name - 1);
    }
    for (size_t i = Count(); i > 0 && ok_; --i) steps_.names.push_back(Text());
    for (size_t i = Count(); i > 0 && ok_; --i) {
      const bool is_stream = Small(2) == 1;
      steps_.tracks.push_back({Text(), is_stream});
    }
  }

  void ReadSteps() {
    std::vector<std::array<uint64_t, kColumns>> sizes;
    for (size_t i = Count(); i > 0 && ok_; --i) {
      EncodedStep step;
      step.number = reader_.Next();
      step.nodes = Small(kMany);
      step.symbols = Small(kNone);
      step.spelled_labels = Small(kNone);
      step.name_corrections = Small(kNone);
      step.novel_nodes = Small(kNone);
      ok_ = ok_ && step.nodes > 0;
      for (uint64_t& size : sizes.emplace_back()) size = reader_.Next();
      steps_.steps.push_back(std::move(step));
    }
    for (size_t i = 0; i < kColumns; ++i) {
      for (size_t step = 0; step < steps_.steps.size() && reader_.ok(); ++step) {
        steps_.steps[step].columns[i] = reader_.Bytes(sizes[step][i]);
      }
    }
  }

  NumberReader reader_;
  bool ok_ = true;
  EncodedSteps steps_;
};

}  // namespace

Result<std::string> EncodedFile(const EncodedSteps& steps) {
  const std::string content = Content(steps);
  std::string file(ZSTD_compressBound(content.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  if (context == nullptr) return Fail("no memory to compress the steps");
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const size_t size =
      ZSTD_compress2(context, file.data(), file.size(), content.data(), content.size());
  (void)ZSTD_freeCCtx(context);
  if (ZSTD_isError(size) != 0) return Fail("compression failed: {}", ZSTD_getErrorName(size));
  file.resize(size);
  return file;
}

Status CheckEncodedHead(std::string_view head) {
  if (head.starts_with(kMagic)) return {};
  return Fail("it holds no encoded steps; `telltale tokens encode --out` writes them");
}

Result<EncodedSteps> ParseEncoded(std::string_view content) {
  TELLTALE_TRY(CheckEncodedHead(content));
  // Another version may have its digest elsewhere: that it is another one is said first.
  const bool is_whole = HasItsDigest(content);
  const size_t size = content.size() - (is_whole ? kDigestBytes : 0);
  auto steps = ContentReader(content.substr(0, size)).Read();
  if (steps && !is_whole) return Fail("{}", kDamaged);
  return steps;
}

}  // namespace telltale::tokens
