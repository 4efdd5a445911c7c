#pragma once

// The fields of one event as text, and how they are found: JSON read key by key, or, since a
// profiler writes millions of events that differ in their values only, compared with the text of an
// earlier one.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "readers/kineto/json_cursor.h"
#include "readers/trace/trace_data.h"

namespace telltale::kineto {

struct Category {
  std::string_view name;
  trace::EventKind kind;
  bool is_gpu;
};

// Views are of the event's text, or as long-lived as the reader.
struct EventFields {
  std::string_view phase, name, pid, tid, time, duration, id, category_name;
  const Category* category = nullptr;  // null for one that is not known
  std::string_view arguments;          // of a counter: the whole object
  // Members of the arguments.
  std::string_view correlation, external_id, bytes, registers, shared_memory, graph_node,
      record_correlation, name_argument, labels;
  std::string_view collective, data_type, group_name, group_description, group_ranks, comms_id,
      in_elements, out_elements, group_size, rank, sequence;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  bool has_grid = false;
};

class EventFieldReader {
 public:
  // False where the element is not an object, or not JSON to its end.
  bool Read(std::string_view element, EventFields& fields);

 private:
  // Where a value of an event goes.
  enum class Use { kSkip, kText, kGrid, kBlock };
  struct Value {
    Use use = Use::kSkip;
    std::string_view EventFields::*text = nullptr;
    size_t shape_end = 0;  // end of what stands in front of it, in Shape::text
  };
  // What events have in common: phase, category, keys, and the bytes between values. Equal bytes
  // there, and each value read as the general way reads it, give what the general way gives.
  struct Shape {
    std::string text;
    std::vector<Value> values;
    std::string phase, category_name;
    const Category* category = nullptr;
    Shape* next = nullptr;  // that of the event which followed last time
  };
  class GeneralRead;

  static bool ReadValue(JsonCursor& cursor, const Value& value, EventFields& fields);
  static bool ReadAs(const Shape& shape, std::string_view element, EventFields& fields);
  bool ReadAsEarlierOne(std::string_view element, EventFields& fields);

  std::vector<std::unique_ptr<Shape>> shapes_;
  Shape* last_ = nullptr;
};

}  // namespace telltale::kineto
