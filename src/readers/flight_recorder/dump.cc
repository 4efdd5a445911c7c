#include "readers/flight_recorder/dump.h"

#include <algorithm>
#include <map>

#include <simdjson.h>

#include "base/text.h"
#include "readers/flight_recorder/pickle.h"

namespace telltale::flight_recorder {
namespace {

using Kind = Value::Kind;

// A pickle can name one value a million times: what is made of it must stay in proportion.
constexpr uint64_t kMostEntries = 1 << 18;
constexpr size_t kMostTextBytes = size_t{64} << 20;

Result<Value*> FromJson(const simdjson::dom::element& element, ValueTree& tree, size_t depth) {
  const auto add = [&](Kind kind) { return tree.Add(kind); };
  Value* value = nullptr;
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY:
    case simdjson::dom::element_type::OBJECT:
      value = add(element.is_array() ? Kind::kList : Kind::kDict);
      break;
    case simdjson::dom::element_type::STRING:
      value = add(Kind::kText);
      if (value != nullptr) value->text = std::string_view(element);
      break;
    case simdjson::dom::element_type::INT64:
      value = add(Kind::kInteger);
      if (value != nullptr) value->integer = int64_t(element);
      break;
    case simdjson::dom::element_type::UINT64:
      value = add(Kind::kNone);  // beyond 63 bits: none of ours
      break;
    case simdjson::dom::element_type::DOUBLE:
      value = add(Kind::kReal);
      if (value != nullptr) value->real = double(element);
      break;
    case simdjson::dom::element_type::BOOL:
      value = add(Kind::kBool);
      if (value != nullptr) value->integer = bool(element) ? 1 : 0;
      break;
    case simdjson::dom::element_type::NULL_VALUE:
      value = add(Kind::kNone);
      break;
  }
  if (value == nullptr) return Fail("the JSON holds more values than a dump can have");
  if (value->kind != Kind::kList && value->kind != Kind::kDict) return value;
  if (depth == 0) return Fail("the JSON is nested deeper than a dump is");
  if (element.is_array()) {
    for (const simdjson::dom::element item : simdjson::dom::array(element)) {
      TELLTALE_ASSIGN(Value* const child, FromJson(item, tree, depth - 1));
      value->items.push_back(child);
    }
    return value;
  }
  for (const simdjson::dom::key_value_pair pair : simdjson::dom::object(element)) {
    Value* const key = tree.Add(Kind::kText);
    if (key == nullptr) return Fail("the JSON holds more values than a dump can have");
    key->text = pair.key;
    TELLTALE_ASSIGN(Value* const child, FromJson(pair.value, tree, depth - 1));
    value->items.push_back(key);
    value->items.push_back(child);
  }
  return value;
}

Result<ValueTree> ReadJson(std::string_view bytes) {
  constexpr size_t kMostDepth = 64;
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  const auto error = parser.parse(bytes.data(), bytes.size()).get(element);
  if (error != simdjson::SUCCESS) {
    return Fail("the dump cannot be read as JSON: {}", simdjson::error_message(error));
  }
  ValueTree tree;
  TELLTALE_ASSIGN(tree.root, FromJson(element, tree, kMostDepth));
  return tree;
}

std::optional<int64_t> IntegerOf(const Value& dict, std::string_view key) {
  const Value* const value = dict.Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind == Kind::kText) return NumberOf<int64_t>(value->text);
  return value->Integer();
}

std::string TextOf(const Value& dict, std::string_view key) {
  const Value* const value = dict.Find(key);
  if (value == nullptr) return {};
  if (value->kind == Kind::kInteger) return std::to_string(value->integer);
  return std::string(value->Text());
}

std::optional<bool> BoolOf(const Value& dict, std::string_view key) {
  const Value* const value = dict.Find(key);
  if (value == nullptr || value->kind != Kind::kBool) return std::nullopt;
  return value->integer != 0;
}

std::optional<double> RealOf(const Value& dict, std::string_view key) {
  const Value* const value = dict.Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind == Kind::kReal) return value->real;
  const auto integer = value->Integer();
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

std::optional<std::string> ListOf(const Value& dict, std::string_view key) {
  const Value* const value = dict.Find(key);
  if (value == nullptr || value->kind == Kind::kNone) return std::nullopt;
  return value->ShortText();
}

DumpEntry EntryOf(const Value& value) {
  DumpEntry entry;
  entry.record_id = IntegerOf(value, "record_id");
  entry.local_group_id = IntegerOf(value, "pg_id");
  entry.collective_sequence = IntegerOf(value, "collective_seq_id");
  entry.p2p_sequence = IntegerOf(value, "p2p_seq_id");
  entry.operation_id = IntegerOf(value, "op_id");
  entry.created_ns = IntegerOf(value, "time_created_ns");
  entry.started_ns = IntegerOf(value, "time_discovered_started_ns");
  entry.completed_ns = IntegerOf(value, "time_discovered_completed_ns");
  entry.timeout_ms = IntegerOf(value, "timeout_ms");
  entry.duration_ms = RealOf(value, "duration_ms");
  entry.operation = TextOf(value, "profiling_name");
  entry.state = TextOf(value, "state");
  entry.is_p2p = BoolOf(value, "is_p2p");
  entry.retired = BoolOf(value, "retired");
  entry.input_sizes = ListOf(value, "input_sizes");
  entry.output_sizes = ListOf(value, "output_sizes");
  entry.input_types = ListOf(value, "input_dtypes");
  entry.output_types = ListOf(value, "output_dtypes");
  entry.thread_name = TextOf(value, "thread_name");
  entry.thread_id = TextOf(value, "thread_id");
  const Value* const group = value.Find("process_group");
  if (group != nullptr && group->kind == Kind::kList && group->items.size() == 2) {
    entry.group_name = group->items[0]->Text();
    entry.group_description = group->items[1]->Text();
  }
  return entry;
}

size_t TextBytesOf(const DumpEntry& entry) {
  size_t bytes = entry.group_name.size() + entry.group_description.size() + entry.operation.size() +
                 entry.state.size() + entry.thread_name.size() + entry.thread_id.size();
  for (const auto* list :
       {&entry.input_sizes, &entry.output_sizes, &entry.input_types, &entry.output_types}) {
    bytes += *list ? (*list)->size() : 0;
  }
  return bytes;
}

// How far a rank got in a group that it names by its own number only.
struct GroupState {
  int64_t local_id = 0;
  std::optional<int64_t> last_enqueued, last_started, last_completed;
};

std::vector<GroupState> StatesOf(const Value& root) {
  std::vector<GroupState> states;
  const Value* const all = root.Find("pg_status");
  if (all == nullptr || all->kind != Kind::kDict) return states;
  for (size_t i = 0; i + 1 < all->items.size(); i += 2) {
    const Value& key = *all->items[i];
    const auto id = key.kind == Kind::kText ? NumberOf<int64_t>(key.text) : key.Integer();
    if (!id) continue;
    const Value& state = *all->items[i + 1];
    states.push_back({*id, IntegerOf(state, "last_enqueued_collective"),
                      IntegerOf(state, "last_started_collective"),
                      IntegerOf(state, "last_completed_collective")});
  }
  std::sort(states.begin(), states.end(),
            [](const GroupState& a, const GroupState& b) { return a.local_id < b.local_id; });
  return states;
}

// Names are mostly the numbers of groups in the order in which the job made them.
bool NameBefore(const DumpGroup& a, const DumpGroup& b) {
  const auto left = NumberOf<int64_t>(a.name);
  const auto right = NumberOf<int64_t>(b.name);
  if (left && right) return *left < *right;
  return left.has_value() != right.has_value() ? left.has_value() : a.name < b.name;
}

std::vector<DumpGroup> GroupsOf(const Value& root) {
  std::vector<DumpGroup> groups;
  const Value* const all = root.Find("pg_config");
  if (all == nullptr || all->kind != Kind::kDict) return groups;
  for (size_t i = 0; i + 1 < all->items.size(); i += 2) {
    const Value& config = *all->items[i + 1];
    DumpGroup& group = groups.emplace_back();
    group.name = all->items[i]->Text();
    group.description = TextOf(config, "desc");
    const Value* const ranks = config.Find("ranks");
    if (ranks == nullptr) continue;
    group.ranks = ranks->kind == Kind::kText ? ranks->text : ranks->ShortText().value_or("");
  }
  std::sort(groups.begin(), groups.end(), NameBefore);
  return groups;
}

// Entries say which number belongs to which name. Of groups without entries the order tells: both
// are in that in which the groups were made, as far as what entries say agrees.
uint64_t JoinStates(const std::vector<GroupState>& states, Dump& dump) {
  std::map<int64_t, std::string> name_of_id;
  for (const DumpEntry& entry : dump.entries) {
    if (entry.local_group_id && !entry.group_name.empty()) {
      name_of_id.emplace(*entry.local_group_id, entry.group_name);
    }
  }
  bool in_order = states.size() == dump.groups.size();
  for (size_t i = 0; in_order && i < states.size(); ++i) {
    const auto said = name_of_id.find(states[i].local_id);
    in_order = said == name_of_id.end() || said->second == dump.groups[i].name;
  }
  uint64_t unknown = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    const GroupState& state = states[i];
    const auto said = name_of_id.find(state.local_id);
    const auto group =
        in_order ? dump.groups.begin() + static_cast<std::ptrdiff_t>(i)
                 : std::find_if(dump.groups.begin(), dump.groups.end(), [&](const DumpGroup& g) {
                     return said != name_of_id.end() && g.name == said->second;
                   });
    if (group == dump.groups.end()) {
      ++unknown;
      continue;
    }
    group->local_id = state.local_id;
    group->last_enqueued = state.last_enqueued;
    group->last_started = state.last_started;
    group->last_completed = state.last_completed;
  }
  return unknown;
}

std::string_view NameOfPath(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (const std::string_view ending : {".gz", ".zst", ".json", ".pkl", ".pickle"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return name;
}

}  // namespace

Result<Dump> ReadDump(std::string_view bytes) {
  ValueTree tree;
  if (IsPickle(bytes)) {
    TELLTALE_ASSIGN(tree, ReadPickle(bytes));
  } else {
    TELLTALE_ASSIGN(tree, ReadJson(bytes));
  }
  const Value& root = *tree.root;
  if (root.kind != Kind::kDict) return Fail("it is no dict: no dump of the flight recorder");
  Dump dump;
  dump.damage = tree.damage;
  dump.version = TextOf(root, "version");
  dump.nccl_version = TextOf(root, "nccl_version");
  if (dump.nccl_version.empty()) dump.nccl_version = TextOf(root, "comm_lib_version");
  dump.groups = GroupsOf(root);
  if (const Value* const entries = root.Find("entries");
      entries != nullptr && entries->kind == Kind::kList) {
    size_t text_bytes = 0;
    for (const Value* const value : entries->items) {
      ++dump.records;
      DumpEntry entry;
      if (dump.entries.size() < kMostEntries && text_bytes < kMostTextBytes)
        entry = EntryOf(*value);
      text_bytes += TextBytesOf(entry);
      if (entry.operation.empty() || entry.state.empty()) {
        if (dump.invalid_entries++ == 0) dump.first_invalid = dump.records - 1;
        continue;
      }
      dump.entries.push_back(std::move(entry));
    }
  }
  if (dump.groups.empty() && dump.entries.empty() && tree.damage.empty()) {
    return Fail(
        "there is neither a process group nor an entry in it: no dump of the flight recorder");
  }
  dump.unknown_groups = JoinStates(StatesOf(root), dump);
  return dump;
}

bool LooksLikeDump(std::string_view head) {
  constexpr size_t kNear = 4096;
  const std::string_view begin = head.substr(0, kNear);
  if (IsPickle(head)) {
    return begin.find("pg_config") != std::string_view::npos ||
           begin.find("nccl_version") != std::string_view::npos ||
           begin.find("pg_status") != std::string_view::npos ||
           begin.find("entries") != std::string_view::npos;
  }
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return false;
  if (head.find("\"traceEvents\"") != std::string_view::npos) return false;
  const bool has_groups = begin.find("\"pg_config\"") != std::string_view::npos ||
                          begin.find("\"pg_status\"") != std::string_view::npos ||
                          begin.find("\"entries\"") != std::string_view::npos;
  return has_groups && begin.find("\"version\"") != std::string_view::npos &&
         begin.find("\"schemaVersion\"") == std::string_view::npos;
}

std::optional<int64_t> RankOfPath(std::string_view path) {
  const std::string_view name = NameOfPath(path);
  const size_t last = name.find_last_not_of("0123456789");
  return NumberOf<int64_t>(name.substr(last == std::string_view::npos ? 0 : last + 1));
}

bool IsNamedAsDump(std::string_view path) {
  const std::string_view name = NameOfPath(path);
  if (!RankOfPath(path)) return false;
  return name.find("_dump_") != std::string_view::npos || name.starts_with("nccl_trace_rank_") ||
         name.starts_with("comm_lib_trace_rank_");
}

}  // namespace telltale::flight_recorder
