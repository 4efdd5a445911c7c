#include <algorithm>

#include "base/slices.h"
#include "tokens/encoded_steps.h"
#include "tokens/expectation.h"

namespace telltale::tokens {
namespace {

// Numbers of one column while a step is encoded.
class ColumnBuffer {
 public:
  void Begin(size_t most_numbers) {
    if (bytes_.size() < most_numbers * kLongestNumber) bytes_.resize(most_numbers * kLongestNumber);
    at_ = bytes_.data();
  }
  void Put(uint64_t value) { at_ = PutNumber(at_, value); }
  void PutSigned(int64_t value) { Put(ZigZag(value)); }
  std::string Text() const { return {bytes_.data(), static_cast<size_t>(at_ - bytes_.data())}; }

 private:
  std::vector<char> bytes_;
  char* at_ = nullptr;
};

class StepEncoder {
 public:
  // `first_names`: by label, of all labels.
  StepEncoder(const Codec& codec, const CallTrees& trees, const std::vector<uint32_t>& labels,
              const std::vector<uint32_t>& first_names)
      : codec_(codec),
        grammar_(codec.grammar()),
        slots_(codec.vocabulary().slots),
        trees_(trees),
        labels_(labels),
        names_(grammar_, slots_, codec.vocabulary().tokens.size(), first_names, trees.names) {
    for (uint32_t label = 0; label < first_names.size(); ++label) {
      slot_of_label_.push_back(codec.SlotOfLabel(label));
    }
  }

  void Encode(size_t step, EncodedStep& encoded) {
    first_ = trees_.first[step];
    const size_t count = trees_.first[step + 1] - first_;
    FoldStep(trees_, labels_, step, grammar_.table(), folded_);
    for (ColumnBuffer& column : columns_) column.Begin(2 * count);
    // A token, how often, its label, its children.
    Buffer(Column::kSymbols).Begin(4 * count);
    values_.Begin(trees_, first_);
    names_.Begin();
    last_thread_ = last_stream_ = 0;
    since_correction_ = 0;
    encoded_ = &encoded;
    encoded.number = trees_.number[step];
    encoded.nodes = static_cast<uint32_t>(count);
    AddSymbols();
    for (size_t i = 0; i < kColumns; ++i) encoded.columns[i] = columns_[i].Text();
  }

 private:
  struct Open {
    Piece piece;
    uint32_t node;
    Places places;
  };

  ColumnBuffer& Buffer(Column column) { return columns_[static_cast<size_t>(column)]; }

  void AddSymbols() {
    const uint32_t root_token =
        folded_.tree[0] == kNone ? kNone : grammar_.TokenOfTree(folded_.tree[0]);
    open_.clear();
    open_.push_back({{root_token, 1, 0, 1}, 0, folded_.places[0]});
    while (!open_.empty()) {
      const Open top = open_.back();
      open_.pop_back();
      const uint32_t label = labels_[first_ + top.node];
      if (top.piece.token != kNone && grammar_.TokenOfLabel(label) != top.piece.token) {
        AddToken(top);
      } else {
        AddEvent(top, label);
      }
    }
  }

  void PutToken(uint32_t token, uint32_t times) {
    ColumnBuffer& column = Buffer(Column::kSymbols);
    column.Put(uint64_t{token} << 1 | (times > 1 ? 1 : 0));
    if (times > 1) column.Put(times - 2);
    encoded_->symbols += times > 1 ? 2 : 1;
  }

  void PutTrack(uint32_t track, uint32_t expected) {
    Buffer(Column::kTracks).Put(track == expected ? 0 : uint64_t{track} + 1);
  }
  void PutThread(uint32_t node, uint32_t thread) {
    const uint32_t parent = trees_.parent[first_ + node];
    const uint32_t track = parent == kNone ? kNone : trees_.track[first_ + parent];
    const bool is_thread = track != kNone && !trees_.IsStream(track);
    PutTrack(thread, is_thread ? track : last_thread_);
    last_thread_ = thread;
  }
  void PutStream(uint32_t stream) {
    PutTrack(stream, last_stream_);
    last_stream_ = stream;
  }

  // A subtree or siblings.
  void AddToken(const Open& top) {
    const uint32_t token = top.piece.token;
    PutToken(token, top.piece.times);
    if (codec_.HoldsThread(token)) PutThread(top.node, top.places.thread);
    if (codec_.HoldsStream(token)) PutStream(top.places.stream);
    const Expansion& expansion = grammar_.ExpansionOf(token);
    uint32_t node = top.node;
    for (uint32_t i = 0; i < top.piece.times; ++i) {
      const auto events = static_cast<uint32_t>(expansion.size());
      for (uint32_t event = 0; event < events; ++event) {
        AddValues(node++, expansion.slot[event], names_.PlaceInToken(token, event));
      }
    }
  }

  void AddEvent(const Open& top, uint32_t label) {
    const uint32_t known = grammar_.TokenOfLabel(label);
    const uint32_t times = top.piece.times;
    const EventKind kind = trees_.kind[first_ + top.node];
    PutToken(known == kNone ? static_cast<uint32_t>(kind) : known, times);
    if (known == kNone) {
      Buffer(Column::kSymbols).Put(label);
      ++encoded_->spelled_labels;
    }
    const bool is_known_leaf = known != kNone && folded_.nodes[top.node] == 1;
    if (!is_known_leaf) ++encoded_->novel_nodes;
    if (times == 1) Buffer(Column::kSymbols).Put(AddChildren(top.node));
    const uint32_t track = trees_.track[first_ + top.node];
    if (track != kNone) {
      trees_.IsStream(track) ? PutStream(track) : PutThread(top.node, track);
    }
    for (uint32_t i = 0; i < times; ++i) {
      AddValues(top.node + i, slot_of_label_[label], names_.PlaceOfLabel(label));
    }
  }

  // How many symbols stand for the children of a node; they are written later.
  size_t AddChildren(uint32_t node) {
    children_.clear();
    trees_of_children_.clear();
    places_of_children_.clear();
    const uint32_t end = node + folded_.nodes[node];
    for (uint32_t child = node + 1; child < end; child += folded_.nodes[child]) {
      children_.push_back(child);
      trees_of_children_.push_back(folded_.tree[child]);
      places_of_children_.push_back(folded_.places[child]);
    }
    if (children_.empty()) return 0;
    grammar_.Parse(trees_of_children_, places_of_children_, kNone, scratch_, pieces_);
    for (size_t i = pieces_.size(); i > 0; --i) {
      const Piece& piece = pieces_[i - 1];
      Open open = {piece, children_[piece.first], {}};
      for (uint32_t item = 0; item < piece.items; ++item) {
        open.places.Join(places_of_children_[piece.first + item]);
      }
      open_.push_back(open);
    }
    return pieces_.size();
  }

  void AddValues(uint32_t node, uint32_t slot, uint32_t name_place) {
    const size_t at = first_ + node;
    const EventPlace place = PlaceOf(trees_, first_, node);
    const ValueExpectation::Expected expected = values_.Expect(place);
    const Slot& usual = slot == kNone ? kNoSlot : slots_[slot];
    const int64_t start_ns = trees_.start_ns[at];
    const int64_t duration_ns = trees_.duration_ns[at];
    Buffer(Column::kStarts).PutSigned(Minus(start_ns, Plus(expected.start_base_ns, usual.gap_ns)));
    Buffer(Column::kDurations).PutSigned(Minus(duration_ns, usual.duration_ns));
    Buffer(Column::kEvents).PutSigned(Minus(trees_.event[at], expected.event));
    Buffer(Column::kCorrelations).PutSigned(Minus(trees_.correlation[at], expected.correlation));
    values_.Note(place, trees_.event[at], start_ns, duration_ns, trees_.correlation[at]);
    const uint32_t name = trees_.name[at];
    if (names_.Expect(name_place, slot) != name) {
      Buffer(Column::kNames).Put(since_correction_);
      Buffer(Column::kNames).Put(name);
      since_correction_ = 0;
      ++encoded_->name_corrections;
    } else {
      ++since_correction_;
    }
    names_.Note(name_place, name);
  }

  const Codec& codec_;
  const Grammar& grammar_;
  const std::vector<Slot>& slots_;
  const CallTrees& trees_;
  const std::vector<uint32_t>& labels_;
  std::vector<uint32_t> slot_of_label_;
  NameExpectation names_;
  ValueExpectation values_;
  FoldedStep folded_;
  size_t first_ = 0;
  uint32_t last_thread_ = 0, last_stream_ = 0;
  uint64_t since_correction_ = 0;  // events whose name was as expected
  EncodedStep* encoded_ = nullptr;
  std::array<ColumnBuffer, kColumns> columns_;
  // Work space.
  std::vector<Open> open_;
  std::vector<uint32_t> children_, trees_of_children_;
  std::vector<Places> places_of_children_;
  std::vector<Piece> pieces_;
  Grammar::Scratch scratch_;
};

std::vector<uint32_t> FirstNames(const Codec& codec, const CallTrees& trees,
                                 const std::vector<uint32_t>& labels, size_t all_labels) {
  std::vector<uint32_t> names(all_labels, kNone);
  std::vector<bool> is_wanted(all_labels);
  for (uint32_t label = 0; label < all_labels; ++label) {
    is_wanted[label] = codec.SlotOfLabel(label) == kNone;
  }
  for (size_t node = 0; node < labels.size(); ++node) {
    if (!is_wanted[labels[node]]) continue;
    names[labels[node]] = trees.name[node];
    is_wanted[labels[node]] = false;
  }
  return names;
}

}  // namespace

EncodedSteps EncodeSteps(const Codec& codec, const CallTrees& trees, unsigned threads) {
  EncodedSteps encoded;
  encoded.vocabulary_digest = codec.digest();
  encoded.names = trees.names;
  encoded.tracks = trees.tracks;
  encoded.steps.resize(trees.Steps());
  LabelTable table;
  for (const Label& label : codec.vocabulary().labels) table.Add(label);
  const size_t known = table.size();
  const std::vector<uint32_t> labels = LabelsOf(trees, table);
  encoded.other_labels.assign(table.labels().begin() + static_cast<ptrdiff_t>(known),
                              table.labels().end());
  encoded.first_names = FirstNames(codec, trees, labels, table.size());
  std::atomic<size_t> next = 0;
  const size_t workers =
      std::min<size_t>(std::max(1u, threads), std::max<size_t>(1, trees.Steps()));
  ForEachSlice(workers, workers, [&](size_t, size_t, size_t) {
    StepEncoder encoder(codec, trees, labels, encoded.first_names);
    for (size_t step = next++; step < trees.Steps(); step = next++) {
      encoder.Encode(step, encoded.steps[step]);
    }
  });
  return encoded;
}

}  // namespace telltale::tokens
