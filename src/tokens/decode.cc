#include <algorithm>

#include "tokens/encoded_steps.h"
#include "tokens/expectation.h"

namespace telltale::tokens {
namespace {

Error Damaged(uint64_t step) {
  return {fmt::format("step {} is damaged: its tokens or values make no sense", step)};
}

// The tokens of a step, one after another.
Status ReadSymbols(const Codec& codec, size_t all_labels, const EncodedStep& step,
                   std::vector<Symbol>& symbols) {
  const std::vector<Token>& tokens = codec.vocabulary().tokens;
  NumberReader reader(step.columns[static_cast<size_t>(Column::kSymbols)]);
  // Each event has a start of a byte at least.
  if (step.nodes > step.columns[static_cast<size_t>(Column::kStarts)].size()) {
    return Fail("more events than values");
  }
  struct Open {
    uint32_t symbol;
    uint32_t children_left;
  };
  std::vector<Open> open;
  uint64_t nodes = 0;
  symbols.clear();
  do {
    Symbol symbol;
    const uint64_t coded = reader.Next();
    if (!reader.ok() || (coded >> 1) >= tokens.size()) return Fail("no such token");
    symbol.token = static_cast<uint32_t>(coded >> 1);
    uint64_t times = 1;
    if ((coded & 1) != 0) times = Plus(static_cast<int64_t>(reader.Next()), 2);
    const TokenKind kind = tokens[symbol.token].kind;
    const bool is_event = kind == TokenKind::kFallback || kind == TokenKind::kLabel;
    if (kind == TokenKind::kFallback) {
      const uint64_t label = reader.Next();
      if (label >= all_labels) return Fail("no such label");
      symbol.label = static_cast<uint32_t>(label);
    } else if (kind == TokenKind::kLabel) {
      symbol.label = tokens[symbol.token].items.front().label;
    }
    const uint64_t events = is_event ? 1 : codec.grammar().ExpansionOf(symbol.token).size();
    if (times == 0 || times > step.nodes || events * times > step.nodes - nodes) {
      return Fail("too many events");
    }
    symbol.times = static_cast<uint32_t>(times);
    symbol.nodes = static_cast<uint32_t>(events * times);
    symbol.first_node = static_cast<uint32_t>(nodes);
    nodes += symbol.nodes;
    if (is_event && times == 1) {
      const uint64_t children = reader.Next();
      if (children > step.nodes) return Fail("too many children");
      symbol.children = static_cast<uint32_t>(children);
    }
    if (!open.empty()) {
      symbol.parent = open.back().symbol;
      symbol.depth = symbols[symbol.parent].depth + 1;
      --open.back().children_left;
    }
    const auto number = static_cast<uint32_t>(symbols.size());
    symbols.push_back(symbol);
    if (symbol.children > 0) open.push_back({number, symbol.children});
    while (!open.empty() && open.back().children_left == 0) open.pop_back();
  } while (!open.empty());
  if (!reader.ok() || !reader.AtEnd() || nodes != step.nodes) return Fail("events are missing");
  return {};
}

class Decoder {
 public:
  Decoder(const Codec& codec, const EncodedSteps& steps)
      : codec_(codec),
        grammar_(codec.grammar()),
        slots_(codec.vocabulary().slots),
        steps_(steps),
        labels_(codec.vocabulary().labels),
        names_(grammar_, slots_, codec.vocabulary().tokens.size(), steps.first_names, steps.names) {
    labels_.insert(labels_.end(), steps.other_labels.begin(), steps.other_labels.end());
    trees_.names = steps.names;
    trees_.tracks = steps.tracks;
  }

  Result<CallTrees> Decode() {
    for (size_t step = 0; step < steps_.steps.size(); ++step) {
      if (!DecodeStep(steps_.steps[step])) {
        return tl::unexpected(Damaged(steps_.steps[step].number));
      }
    }
    return std::move(trees_);
  }

 private:
  NumberReader& Reader(Column column) { return readers_[static_cast<size_t>(column)]; }

  bool DecodeStep(const EncodedStep& step) {
    for (size_t i = 0; i < kColumns; ++i) readers_[i] = NumberReader(step.columns[i]);
    if (!ReadSymbols(codec_, labels_.size(), step, symbols_)) return false;
    first_ = trees_.Nodes();
    values_.Begin(trees_, first_);
    names_.Begin();
    last_thread_ = last_stream_ = 0;
    ReadCorrection();
    for (const Symbol& symbol : symbols_) {
      if (!AddSymbol(symbol)) return false;
    }
    trees_.first.push_back(first_ + step.nodes);
    trees_.number.push_back(step.number);
    Reader(Column::kSymbols) = NumberReader();
    return std::all_of(readers_.begin(), readers_.end(),
                       [](const NumberReader& reader) { return reader.ok() && reader.AtEnd(); }) &&
           !next_name_;
  }

  void ReadCorrection() {
    next_name_.reset();
    NumberReader& reader = Reader(Column::kNames);
    if (reader.AtEnd()) return;
    expected_before_ = reader.Next();
    next_name_ = reader.Next();
  }

  bool ReadTrack(uint32_t expected, uint32_t& track) {
    const uint64_t coded = Reader(Column::kTracks).Next();
    if (coded > trees_.tracks.size()) return false;
    track = coded == 0 ? expected : static_cast<uint32_t>(coded - 1);
    return track < trees_.tracks.size();
  }

  bool ReadTracks(const Symbol& symbol, uint32_t parent) {
    bool has_thread = codec_.HoldsThread(symbol.token);
    bool has_stream = codec_.HoldsStream(symbol.token);
    if (symbol.label != kNone) {
      has_thread = labels_[symbol.label].place == Place::kThread;
      has_stream = labels_[symbol.label].place == Place::kStream;
    }
    if (has_thread) {
      const uint32_t track = parent == kNone ? kNone : trees_.track[first_ + parent];
      const bool is_thread = track != kNone && !trees_.IsStream(track);
      if (!ReadTrack(is_thread ? track : last_thread_, last_thread_)) return false;
    }
    return !has_stream || ReadTrack(last_stream_, last_stream_);
  }

  bool AddSymbol(const Symbol& symbol) {
    const uint32_t parent = symbol.parent == kNone ? kNone : symbols_[symbol.parent].first_node;
    if (!ReadTracks(symbol, parent)) return false;
    if (symbol.label != kNone) {
      const uint32_t slot = codec_.SlotOfLabel(symbol.label);
      for (uint32_t i = 0; i < symbol.times; ++i) {
        if (!AddNode(symbol.label, parent, slot, names_.PlaceOfLabel(symbol.label))) return false;
      }
      return true;
    }
    const Expansion& expansion = grammar_.ExpansionOf(symbol.token);
    for (uint32_t i = 0; i < symbol.times; ++i) {
      const auto first = static_cast<uint32_t>(trees_.parent.size() - first_);
      for (uint32_t event = 0; event < expansion.size(); ++event) {
        const uint32_t above = expansion.parent[event];
        if (!AddNode(expansion.label[event], above == kNone ? parent : first + above,
                     expansion.slot[event], names_.PlaceInToken(symbol.token, event))) {
          return false;
        }
      }
    }
    return true;
  }

  bool AddNode(uint32_t label_number, uint32_t parent, uint32_t slot, uint32_t name_place) {
    const Label& label = labels_[label_number];
    const uint32_t track = label.place == Place::kThread   ? last_thread_
                           : label.place == Place::kStream ? last_stream_
                                                           : kNone;
    // A track that is of the other kind than the label says would be expected otherwise when it is
    // encoded again.
    const bool on_stream = label.place == Place::kStream;
    if (trees_.IsStream(track) != on_stream) return false;
    const auto node = static_cast<uint32_t>(trees_.parent.size() - first_);
    const EventPlace place = {node, parent, track, label.kind, on_stream};
    const ValueExpectation::Expected expected = values_.Expect(place);
    const Slot& usual = slot == kNone ? kNoSlot : slots_[slot];
    const int64_t start_ns =
        Plus(Plus(expected.start_base_ns, usual.gap_ns), Reader(Column::kStarts).NextSigned());
    const int64_t duration_ns = Plus(usual.duration_ns, Reader(Column::kDurations).NextSigned());
    const int64_t event = Plus(expected.event, Reader(Column::kEvents).NextSigned());
    const int64_t correlation =
        Plus(expected.correlation, Reader(Column::kCorrelations).NextSigned());
    uint64_t name = names_.Expect(name_place, slot);
    if (next_name_ && expected_before_ == 0) {
      name = *next_name_;
      ReadCorrection();
    } else if (next_name_) {
      --expected_before_;
    }
    if (name >= trees_.names.size()) return false;
    names_.Note(name_place, static_cast<uint32_t>(name));
    trees_.parent.push_back(parent);
    trees_.name.push_back(static_cast<uint32_t>(name));
    trees_.track.push_back(track);
    trees_.communicator.push_back(kNone);
    trees_.kind.push_back(label.kind);
    trees_.basis.push_back(label.basis);
    trees_.event.push_back(event);
    trees_.start_ns.push_back(start_ns);
    trees_.duration_ns.push_back(duration_ns);
    trees_.correlation.push_back(correlation);
    values_.Note(place, event, start_ns, duration_ns, correlation);
    return true;
  }

  const Codec& codec_;
  const Grammar& grammar_;
  const std::vector<Slot>& slots_;
  const EncodedSteps& steps_;
  std::vector<Label> labels_;
  NameExpectation names_;
  ValueExpectation values_;
  std::array<NumberReader, kColumns> readers_;
  std::vector<Symbol> symbols_;
  size_t first_ = 0;
  uint32_t last_thread_ = 0, last_stream_ = 0;
  uint64_t expected_before_ = 0;       // events until the next correction of a name
  std::optional<uint64_t> next_name_;  // that correction
  CallTrees trees_;
};

Status CheckVocabulary(const Codec& codec, const EncodedSteps& steps) {
  if (steps.vocabulary_digest == codec.digest()) return {};
  return Fail(
      "the steps were encoded with another vocabulary, whose digest is {} (this one's: {}): "
      "take that one, or encode the steps anew",
      steps.vocabulary_digest, codec.digest());
}

}  // namespace

Result<std::vector<Symbol>> SymbolsOf(const Codec& codec, const EncodedSteps& steps, size_t step) {
  TELLTALE_TRY(CheckVocabulary(codec, steps));
  std::vector<Symbol> symbols;
  const size_t labels = codec.vocabulary().labels.size() + steps.other_labels.size();
  if (!ReadSymbols(codec, labels, steps.steps[step], symbols)) {
    return tl::unexpected(Damaged(steps.steps[step].number));
  }
  return symbols;
}

Result<CallTrees> DecodeSteps(const Codec& codec, const EncodedSteps& steps) {
  TELLTALE_TRY(CheckVocabulary(codec, steps));
  if (steps.first_names.size() != codec.vocabulary().labels.size() + steps.other_labels.size()) {
    return Fail("the steps are damaged: names of labels are missing");
  }
  return Decoder(codec, steps).Decode();
}

}  // namespace telltale::tokens
