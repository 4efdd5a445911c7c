#include "tokens/slot_values.h"

#include <algorithm>
#include <map>

#include <simdjson.h>

#include "tokens/expectation.h"

namespace telltale::tokens {
namespace {

constexpr size_t kMostSamples = 256;  // of each slot, chosen evenly

struct Sample {
  int64_t duration_ns = 0;
  int64_t gap_ns = 0;
  uint32_t name = 0;
  bool has_parent = false;
};

struct Samples {
  std::vector<Sample> chosen;
  uint64_t seen = 0;

  void Add(const Sample& sample) {
    const uint64_t number = seen++;
    if (number < kMostSamples) return chosen.push_back(sample);
    const uint64_t place = ((number * 0x9E3779B97F4A7C15u) >> 32) % (number + 1);
    if (place < kMostSamples) chosen[place] = sample;
  }
};

int64_t MedianOf(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class SlotSampler {
 public:
  SlotSampler(const Codec& codec, const CallTrees& trees)
      : codec_(codec),
        trees_(trees),
        samples_(codec.vocabulary().slots.size()),
        samples_of_label_(codec.vocabulary().labels.size()) {}

  void AddStep(size_t step, const std::vector<Symbol>& symbols) {
    first_ = trees_.first[step];
    values_.Begin(trees_, first_);
    for (const Symbol& symbol : symbols) {
      uint32_t node = symbol.first_node;
      if (symbol.label != kNone) {
        for (uint32_t i = 0; i < symbol.times; ++i) {
          Add(node++, symbol.label, codec_.SlotOfLabel(symbol.label));
        }
        continue;
      }
      const Expansion& expansion = codec_.grammar().ExpansionOf(symbol.token);
      for (uint32_t i = 0; i < symbol.times; ++i) {
        for (size_t event = 0; event < expansion.size(); ++event) {
          Add(node++, expansion.label[event], expansion.slot[event]);
        }
      }
    }
  }

  // A slot that stands in none of the steps, because larger tokens hold what it could stand for,
  // has its label's values.
  std::vector<Slot> Slots() const {
    std::vector<Slot> slots(samples_.size());
    for (const Token& token : codec_.vocabulary().tokens) {
      for (const Item& item : token.items) {
        if (item.token != kNone) continue;
        const Samples& own = samples_[item.slot];
        slots[item.slot] = SlotOf(own.chosen.empty() ? samples_of_label_[item.label] : own);
      }
    }
    return slots;
  }

 private:
  Slot SlotOf(const Samples& samples) const {
    Slot slot;
    std::vector<int64_t> durations_ns, gaps_ns;
    std::map<uint32_t, size_t> names;
    for (const Sample& sample : samples.chosen) {
      if (sample.duration_ns >= 0) durations_ns.push_back(sample.duration_ns);
      if (sample.has_parent) gaps_ns.push_back(sample.gap_ns);
      ++names[sample.name];
    }
    slot.duration_ns = MedianOf(std::move(durations_ns));
    slot.gap_ns = MedianOf(std::move(gaps_ns));
    size_t most = 0;
    for (const auto& [name, count] : names) {
      if (count <= most) continue;
      most = count;
      slot.name = trees_.names[name];
      if (!simdjson::validate_utf8(slot.name)) slot.name.clear();  // a vocabulary is JSON
    }
    return slot;
  }

  // `slot`: kNone where the vocabulary has none for it.
  void Add(uint32_t node, uint32_t label, uint32_t slot) {
    const size_t at = first_ + node;
    const EventPlace place = PlaceOf(trees_, first_, node);
    const int64_t gap_ns = Minus(trees_.start_ns[at], values_.Expect(place).start_base_ns);
    const Sample sample = {trees_.duration_ns[at], gap_ns, trees_.name[at], place.parent != kNone};
    if (slot != kNone) samples_[slot].Add(sample);
    if (label < samples_of_label_.size()) samples_of_label_[label].Add(sample);
    values_.Note(place, trees_.event[at], trees_.start_ns[at], trees_.duration_ns[at],
                 trees_.correlation[at]);
  }

  const Codec& codec_;
  const CallTrees& trees_;
  std::vector<Samples> samples_;           // by slot
  std::vector<Samples> samples_of_label_;  // of all its events
  ValueExpectation values_;
  size_t first_ = 0;
};

}  // namespace

std::vector<Slot> LearnSlots(const Codec& codec, const CallTrees& trees, unsigned threads) {
  const EncodedSteps encoded = EncodeSteps(codec, trees, threads);
  SlotSampler sampler(codec, trees);
  for (size_t step = 0; step < trees.Steps(); ++step) {
    const auto symbols = SymbolsOf(codec, encoded, step);
    if (symbols) sampler.AddStep(step, *symbols);
  }
  return sampler.Slots();
}

}  // namespace telltale::tokens
