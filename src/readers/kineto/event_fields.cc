#include "readers/kineto/event_fields.h"

#include <cstring>
#include <span>
#include <type_traits>

#include "base/text.h"

namespace telltale::kineto {
namespace {

using trace::EventKind;

// Traces have some twenty shapes; one of nothing but exceptions must not be compared with all.
constexpr size_t kMostShapes = 64;

constexpr Category kCategories[] = {
    {"cpu_op", EventKind::kOperator, false},
    {"python_function", EventKind::kPython, false},
    {"cuda_runtime", EventKind::kRuntime, false},
    {"kernel", EventKind::kKernel, true},
    {"user_annotation", EventKind::kRange, false},
    {"gpu_memcpy", EventKind::kMemcpy, true},
    {"gpu_memset", EventKind::kMemset, true},
    {"cuda_driver", EventKind::kDriver, false},
    {"cuda_sync", EventKind::kSync, true},
    {"gpu_user_annotation", EventKind::kRange, true},
    {"cpu_instant_event", EventKind::kMarker, false},
    // 2022
    {"Operator", EventKind::kOperator, false},
    {"Runtime", EventKind::kRuntime, false},
    {"Kernel", EventKind::kKernel, true},
    {"Memcpy", EventKind::kMemcpy, true},
    {"Memset", EventKind::kMemset, true},
    // other devices
    {"hip_runtime", EventKind::kRuntime, false},
    {"xpu_runtime", EventKind::kRuntime, false},
    {"privateuse1_runtime", EventKind::kRuntime, false},
    {"privateuse1_driver", EventKind::kDriver, false},
    {"concurrent_kernel", EventKind::kKernel, true},
};

const Category* CategoryOf(std::string_view name) {
  for (const Category& category : kCategories) {
    if (category.name == name) return &category;
  }
  return nullptr;
}

struct KnownKey {
  std::string_view key;
  std::string_view EventFields::*text;
};

std::string_view EventFields::*MemberOf(std::string_view key, std::span<const KnownKey> known) {
  for (const KnownKey& candidate : known) {
    if (candidate.key == key) return candidate.text;
  }
  return nullptr;
}

constexpr KnownKey kEventKeys[] = {
    {"ph", &EventFields::phase},     {"cat", &EventFields::category_name},
    {"name", &EventFields::name},    {"pid", &EventFields::pid},
    {"tid", &EventFields::tid},      {"ts", &EventFields::time},
    {"dur", &EventFields::duration}, {"id", &EventFields::id},
};

constexpr KnownKey kArgumentKeys[] = {
    {"External id", &EventFields::external_id},
    {"correlation", &EventFields::correlation},
    {"external id", &EventFields::external_id},
    {"bytes", &EventFields::bytes},
    {"registers per thread", &EventFields::registers},
    {"shared memory", &EventFields::shared_memory},
    {"graph node id", &EventFields::graph_node},
    {"wait_on_cuda_event_record_corr_id", &EventFields::record_correlation},
    {"name", &EventFields::name_argument},
    {"labels", &EventFields::labels},
    {"Collective name", &EventFields::collective},
    {"dtype", &EventFields::data_type},
    {"Process Group Name", &EventFields::group_name},
    {"Process Group Description", &EventFields::group_description},
    {"Process Group Ranks", &EventFields::group_ranks},
    {"Comms Id", &EventFields::comms_id},
    {"In msg nelems", &EventFields::in_elements},
    {"Out msg nelems", &EventFields::out_elements},
    {"Group size", &EventFields::group_size},
    {"Rank", &EventFields::rank},
    {"Seq", &EventFields::sequence},
};

bool ReadTriple(JsonCursor& cursor, uint32_t (&out)[3]) {
  if (!cursor.Take('[')) return cursor.SkipValue();
  std::string_view text;
  for (size_t i = 0; !cursor.Take(']'); ++i) {
    if (cursor.Peek() == '[' || cursor.Peek() == '{') {
      if (!cursor.SkipValue()) return false;
    } else if (!cursor.Scalar(text)) {
      return false;
    } else if (i < 3) {
      out[i] = WholeNumberOf<uint32_t>(text).value_or(0);
    }
    (void)cursor.Take(',');
  }
  return true;
}

// The compiler's own way for so many bytes takes three times as long as the library's.
void Clear(EventFields& fields) {
  static_assert(std::is_trivially_copyable_v<EventFields>);
  size_t bytes = sizeof fields;
  asm volatile("" : "+r"(bytes));
  std::memset(static_cast<void*>(&fields), 0, bytes);
}

}  // namespace

bool EventFieldReader::ReadValue(JsonCursor& cursor, const Value& value, EventFields& fields) {
  switch (value.use) {
    case Use::kText:
      return cursor.Scalar(fields.*value.text);
    case Use::kGrid:
      fields.has_grid = true;
      return ReadTriple(cursor, fields.grid);
    case Use::kBlock:
      return ReadTriple(cursor, fields.block);
    case Use::kSkip:
      break;
  }
  return cursor.SkipValue();
}

// Reads key by key, and notes the shape.
class EventFieldReader::GeneralRead {
 public:
  GeneralRead(std::string_view element, EventFields& fields, Shape& shape)
      : cursor_(element), shape_begin_(element.data()), fields_(fields), shape_(shape) {}

  bool Read() {
    if (!cursor_.Take('{')) return false;
    std::string_view key;
    while (!cursor_.Take('}')) {
      if (!cursor_.String(key) || !cursor_.Take(':')) return false;
      if (!(key == "args" ? ReadArguments() : ReadMember(key)) || !TakeComma()) return false;
    }
    if (!cursor_.AtEnd()) return false;
    fields_.category = CategoryOf(fields_.category_name);
    shape_.text.append(shape_begin_, cursor_.position());
    shape_.phase = fields_.phase;
    shape_.category_name = fields_.category_name;
    shape_.category = fields_.category;
    return true;
  }
  // Counters are asked for all their arguments, which no shape has.
  bool has_shape() const { return has_shape_ && !shape_.values.empty() && fields_.phase != "C"; }

 private:
  bool ReadMember(std::string_view key) {
    const auto member = MemberOf(key, kEventKeys);
    const Value value = ValueOf(member);
    if (member == &EventFields::phase || member == &EventFields::category_name) {
      return ReadValue(cursor_, value, fields_);
    }
    return ReadVarying(value);
  }

  bool ReadArguments() {
    const char* const begin = cursor_.position();
    if (!cursor_.Take('{')) {
      has_shape_ = false;
      return cursor_.SkipValue();
    }
    std::string_view key;
    while (!cursor_.Take('}')) {
      if (!cursor_.String(key) || !cursor_.Take(':')) return false;
      const Value value = key == "grid"    ? Value{Use::kGrid}
                          : key == "block" ? Value{Use::kBlock}
                                           : ValueOf(MemberOf(key, kArgumentKeys));
      if (!ReadVarying(value) || !TakeComma()) return false;
    }
    fields_.arguments = {begin, static_cast<size_t>(cursor_.position() - begin)};
    return true;
  }

  // One too many at the end is no matter, but without one two broken events could pass for one.
  bool TakeComma() { return cursor_.Take(',') || cursor_.Peek() == '}'; }

  // A text is asked for; what is nested instead is passed over.
  Value ValueOf(std::string_view EventFields::*member) {
    if (member == nullptr) return {};
    if (cursor_.Peek() != '{' && cursor_.Peek() != '[') return {Use::kText, member};
    has_shape_ = false;
    return {};
  }

  bool ReadVarying(Value value) {
    shape_.text.append(shape_begin_, cursor_.position());
    value.shape_end = shape_.text.size();
    shape_.values.push_back(value);
    if (!ReadValue(cursor_, value, fields_)) return false;
    shape_begin_ = cursor_.position();
    return true;
  }

  JsonCursor cursor_;
  const char* shape_begin_;  // behind the last value
  EventFields& fields_;
  Shape& shape_;
  bool has_shape_ = true;
};

bool EventFieldReader::ReadAs(const Shape& shape, std::string_view element, EventFields& fields) {
  JsonCursor cursor(element);
  const std::string_view text = shape.text;
  size_t begin = 0;
  for (const Value& value : shape.values) {
    if (!cursor.TakeText(text.substr(begin, value.shape_end - begin))) return false;
    if (begin == 0) Clear(fields);
    if (!ReadValue(cursor, value, fields)) return false;
    begin = value.shape_end;
  }
  if (!cursor.TakeText(text.substr(begin)) || !cursor.AtEnd()) return false;
  fields.phase = shape.phase;
  fields.category_name = shape.category_name;
  fields.category = shape.category;
  return true;
}

bool EventFieldReader::ReadAsEarlierOne(std::string_view element, EventFields& fields) {
  Shape* const expected = last_ != nullptr ? last_->next : nullptr;
  if (expected != nullptr && ReadAs(*expected, element, fields)) {
    last_ = expected;
    return true;
  }
  for (const std::unique_ptr<Shape>& shape : shapes_) {
    if (shape.get() == expected) continue;
    if (!ReadAs(*shape, element, fields)) continue;
    if (last_ != nullptr) last_->next = shape.get();
    last_ = shape.get();
    return true;
  }
  return false;
}

bool EventFieldReader::Read(std::string_view element, EventFields& fields) {
  if (ReadAsEarlierOne(element, fields)) return true;
  fields = {};
  auto shape = std::make_unique<Shape>();
  GeneralRead read(element, fields, *shape);
  if (!read.Read()) return false;
  if (read.has_shape() && shapes_.size() < kMostShapes) {
    if (last_ != nullptr) last_->next = shape.get();
    last_ = shape.get();
    shapes_.push_back(std::move(shape));
  }
  return true;
}

}  // namespace telltale::kineto
