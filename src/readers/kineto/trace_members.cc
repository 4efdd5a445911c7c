#include "readers/kineto/trace_members.h"

#include "base/text.h"
#include "readers/kineto/json_cursor.h"

namespace telltale::kineto {
namespace {

void ReadDistributedInfo(JsonCursor& cursor, TraceMembers& members) {
  if (!cursor.Take('{')) {
    (void)cursor.SkipValue();
    return;
  }
  std::string_view key, text;
  while (cursor.String(key) && cursor.Take(':')) {
    if ((key == "rank" || key == "world_size") && cursor.Peek() != '{' && cursor.Peek() != '[') {
      if (!cursor.Scalar(text)) return;
      (key == "rank" ? members.rank : members.world_size) = WholeNumberOf<int64_t>(text);
    } else if (!cursor.SkipValue()) {
      return;
    }
    (void)cursor.Take(',');
  }
  (void)cursor.Take('}');
}

}  // namespace

TraceMembers ReadTraceMembers(std::string_view json) {
  TraceMembers members;
  JsonCursor cursor(json);
  if (!cursor.Take('{')) return members;
  std::string_view key, text;
  while (cursor.String(key) && cursor.Take(':')) {
    if (key == "distributedInfo") {
      ReadDistributedInfo(cursor, members);
    } else if (cursor.Peek() == '{' || cursor.Peek() == '[') {
      if (key == "baseTimeNanoseconds") members.invalid_base = "not a number";
      if (!cursor.SkipValue()) break;
    } else if (!cursor.Scalar(text)) {
      break;
    } else if (key == "baseTimeNanoseconds") {
      members.base_ns = WholeNumberOf<int64_t>(text);
      if (!members.base_ns) members.invalid_base = Unescaped(text);
    } else if (key == "schemaVersion") {
      members.schema_version = Unescaped(text);
    } else if (key == "cupti_version" || key == "roctracer_version") {
      members.tool = std::string(key.substr(0, key.find('_'))) + " " + Unescaped(text);
    }
    (void)cursor.Take(',');
  }
  return members;
}

}  // namespace telltale::kineto
