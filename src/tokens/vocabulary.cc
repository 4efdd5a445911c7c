#include "tokens/vocabulary.h"

#include <array>

#include <fmt/format.h>
#include <simdjson.h>
#include <xxhash.h>

#include "base/json_text.h"

namespace telltale::tokens {
namespace {

constexpr std::string_view kSchema = "telltale/vocabulary/1";
constexpr size_t kMostTokens = 2 * kLargestVocabulary;

constexpr std::array<const char*, 4> kTokenKinds = {"fallback", "label", "subtree", "siblings"};
constexpr std::array<const char*, 4> kBasisNames = {"none", "nesting", "correlation",
                                                    "external_id"};
constexpr std::array<const char*, 3> kPlaceNames = {"thread", "stream", "nowhere"};

void AppendSlot(std::string& out, const Slot& slot) {
  fmt::format_to(std::back_inserter(out), R"("duration_ns":{},"gap_ns":{})", slot.duration_ns,
                 slot.gap_ns);
  if (slot.name.empty()) return;
  out += R"(,"name":)";
  AppendJsonString(out, slot.name);
}

void AppendItem(std::string& out, const Item& item, const std::vector<Slot>& slots) {
  if (item.token != kNone) {
    fmt::format_to(std::back_inserter(out), R"({{"token":{})", item.token);
  } else {
    fmt::format_to(std::back_inserter(out), R"({{"label":{},"children":{},)", item.label,
                   item.children);
    AppendSlot(out, slots[item.slot]);
  }
  if (item.times > 1) fmt::format_to(std::back_inserter(out), R"(,"times":{})", item.times);
  out += '}';
}

// All but the digest, without the closing brace.
std::string Body(const Vocabulary& vocabulary) {
  std::string out = fmt::format(R"({{"schema":"{}","learned_from":{{"steps":{},"events":{}}},)"
                                "\n\"labels\":[",
                                kSchema, vocabulary.steps, vocabulary.nodes);
  for (size_t i = 0; i < vocabulary.labels.size(); ++i) {
    const Label& label = vocabulary.labels[i];
    fmt::format_to(std::back_inserter(out), R"({}{{"kind":"{}","basis":"{}","place":"{}","text":)",
                   i > 0 ? ",\n" : "\n", trace::EventKindName(label.kind),
                   kBasisNames[static_cast<size_t>(label.basis)],
                   kPlaceNames[static_cast<size_t>(label.place)]);
    AppendJsonString(out, label.text);
    out += '}';
  }
  out += "],\n\"tokens\":[";
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const Token& token = vocabulary.tokens[i];
    fmt::format_to(std::back_inserter(out), R"({}{{"kind":"{}","items":[)", i > 0 ? ",\n" : "\n",
                   TokenKindName(token.kind));
    for (size_t k = 0; k < token.items.size(); ++k) {
      if (k > 0) out += ',';
      AppendItem(out, token.items[k], vocabulary.slots);
    }
    out += "]}";
  }
  return out + "]";
}

// The first missing or wrong member is remembered; what is read after it does not matter.
class MemberReader {
 public:
  explicit MemberReader(std::string& fault) : fault_(fault) {}

  template <typename T>
  T Get(const simdjson::dom::element& object, std::string_view key) {
    T value{};
    if (object[key].get(value) != simdjson::SUCCESS) Complain(key);
    return value;
  }
  uint32_t Number(const simdjson::dom::element& object, std::string_view key, uint64_t most) {
    const auto value = Get<uint64_t>(object, key);
    if (value > most) Complain(key);
    return static_cast<uint32_t>(value);
  }
  template <size_t n>
  size_t Choice(const simdjson::dom::element& object, std::string_view key,
                const std::array<const char*, n>& names) {
    const auto text = Get<std::string_view>(object, key);
    for (size_t i = 0; i < n; ++i) {
      if (text == names[i]) return i;
    }
    Complain(key);
    return 0;
  }
  template <typename Use>
  void ForEach(const simdjson::dom::element& object, std::string_view key, const Use& use) {
    simdjson::dom::array array;
    if (object[key].get(array) != simdjson::SUCCESS) return Complain(key);
    for (const simdjson::dom::element element : array) use(element);
  }
  bool Has(const simdjson::dom::element& object, std::string_view key) const {
    return object[key].error() == simdjson::SUCCESS;
  }
  void Complain(std::string_view key) {
    if (fault_.empty()) fault_ = fmt::format("\"{}\" is missing or makes no sense", key);
  }

 private:
  std::string& fault_;
};

class VocabularyReader {
 public:
  Result<Vocabulary> Read(const simdjson::dom::element& root) {
    simdjson::dom::element learned_from;
    if (root["learned_from"].get(learned_from) != simdjson::SUCCESS) {
      return Fail("\"learned_from\" is missing");
    }
    vocabulary_.steps = read_.Get<uint64_t>(learned_from, "steps");
    vocabulary_.nodes = read_.Get<uint64_t>(learned_from, "events");
    read_.ForEach(root, "labels", [&](const auto& label) { ReadLabel(label); });
    read_.ForEach(root, "tokens", [&](const auto& token) { ReadToken(token); });
    if (vocabulary_.tokens.size() > kMostTokens) read_.Complain("tokens");
    if (!fault_.empty()) return Fail("{}", fault_);
    return std::move(vocabulary_);
  }

 private:
  void ReadLabel(const simdjson::dom::element& element) {
    static const std::array<const char*, trace::kEventKinds> kind_names = [] {
      std::array<const char*, trace::kEventKinds> names{};
      for (size_t i = 0; i < names.size(); ++i) {
        names[i] = trace::EventKindName(static_cast<EventKind>(i));
      }
      return names;
    }();
    Label label;
    label.kind = static_cast<EventKind>(read_.Choice(element, "kind", kind_names));
    label.basis = static_cast<ParentBasis>(read_.Choice(element, "basis", kBasisNames));
    label.place = static_cast<Place>(read_.Choice(element, "place", kPlaceNames));
    label.text = read_.Get<std::string_view>(element, "text");
    vocabulary_.labels.push_back(std::move(label));
  }

  void ReadToken(const simdjson::dom::element& element) {
    Token token;
    token.kind = static_cast<TokenKind>(read_.Choice(element, "kind", kTokenKinds));
    read_.ForEach(element, "items",
                  [&](const auto& item) { token.items.push_back(ReadItem(item)); });
    if ((token.kind == TokenKind::kFallback) != token.items.empty()) read_.Complain("items");
    vocabulary_.tokens.push_back(std::move(token));
  }

  Item ReadItem(const simdjson::dom::element& element) {
    Item item;
    if (read_.Has(element, "times")) item.times = read_.Number(element, "times", kNone - 1);
    if (read_.Has(element, "token")) {
      item.token = read_.Number(element, "token", kMostTokens);
      return item;
    }
    item.label = read_.Number(element, "label", kNone - 1);
    item.children = read_.Number(element, "children", kNone - 1);
    item.slot = static_cast<uint32_t>(vocabulary_.slots.size());
    Slot slot;
    slot.duration_ns = read_.Get<int64_t>(element, "duration_ns");
    slot.gap_ns = read_.Get<int64_t>(element, "gap_ns");
    if (read_.Has(element, "name")) slot.name = read_.Get<std::string_view>(element, "name");
    vocabulary_.slots.push_back(std::move(slot));
    return item;
  }

  std::string fault_;
  MemberReader read_{fault_};
  Vocabulary vocabulary_;
};

}  // namespace

const char* TokenKindName(TokenKind kind) { return kTokenKinds[static_cast<size_t>(kind)]; }

uint64_t Vocabulary::DictionarySymbols() const {
  uint64_t symbols = 0;
  for (const Token& token : tokens) {
    if (token.kind != TokenKind::kSubtree && token.kind != TokenKind::kSiblings) continue;
    for (const Item& item : token.items) symbols += item.times > 1 ? 2 : 1;
  }
  return symbols;
}

std::string DigestOf(const Vocabulary& vocabulary) {
  const std::string body = Body(vocabulary);
  const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string VocabularyText(const Vocabulary& vocabulary) {
  return fmt::format("{},\n\"digest\":\"{}\"}}\n", Body(vocabulary), DigestOf(vocabulary));
}

Result<Vocabulary> ParseVocabulary(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view schema;
  if (const auto error = parser.parse(simdjson::padded_string(text)).get(root)) {
    return Fail("it is no vocabulary of structural tokens, as it is not valid JSON: {}",
                simdjson::error_message(error));
  }
  if (root["schema"].get(schema) != simdjson::SUCCESS ||
      !schema.starts_with("telltale/vocabulary/")) {
    return Fail("it is not a vocabulary of structural tokens; `telltale tokens train` writes one");
  }
  if (schema != kSchema) {
    return Fail("its format is {}, and this version of telltale knows {}", schema, kSchema);
  }
  TELLTALE_ASSIGN(Vocabulary vocabulary, VocabularyReader().Read(root));
  std::string_view digest;
  if (root["digest"].get(digest) != simdjson::SUCCESS) return Fail("its digest is missing");
  if (digest != DigestOf(vocabulary)) {
    return Fail(
        "it was changed since it was written: its digest does not fit its content; learn it "
        "anew, or take the file as `telltale tokens train` wrote it");
  }
  return vocabulary;
}

}  // namespace telltale::tokens
