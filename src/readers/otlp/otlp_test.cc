// OpenTelemetry's JSON: what exporters write in every spelling, and what is broken.

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/line_window.h"
#include "readers/otlp/otlp_parser.h"
#include "readers/otlp/otlp_test_lines.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using otlp::LogRecord;
using otlp::Origin;
using otlp::OtlpParser;
using otlp::Span;
using namespace std::string_view_literals;
using Strings = std::vector<std::string>;

struct Records : otlp::RecordSink {
  Status Take(const Span& span, const Origin& origin) override {
    spans.push_back(span);
    origins.push_back(origin);
    return {};
  }
  Status Take(const LogRecord& record, const Origin& origin) override {
    logs.push_back(record);
    origins.push_back(origin);
    return {};
  }
  Strings Names() const {
    Strings names;
    for (const Span& span : spans) names.push_back(span.name);
    return names;
  }
  std::vector<Span> spans;
  std::vector<LogRecord> logs;
  std::vector<Origin> origins;
};

struct Parsed : Records {
  uint64_t records = 0;
  uint64_t rows = 0;
  LossCounts losses;
};

Parsed Parse(std::string_view bytes, size_t window_bytes = size_t{1} << 20,
             size_t most_line_bytes = otlp::JsonDocuments::kMostBytes) {
  Parsed parsed;
  OtlpParser parser(parsed);
  const auto stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  LineWindow windows(*stream, window_bytes, most_line_bytes);
  while (true) {
    const auto window = windows.Next();
    EXPECT_TRUE(window);
    if (!window || window->empty()) break;
    EXPECT_TRUE(parser.ParseWindow(*window, windows.cut_line()));
  }
  EXPECT_TRUE(parser.Finish());
  parsed.records = parser.records();
  parsed.rows = parser.rows();
  parsed.losses = parser.losses();
  EXPECT_EQ(parsed.records, parsed.rows + parsed.losses.Records());
  EXPECT_EQ(parsed.rows, parsed.spans.size() + parsed.logs.size());
  return parsed;
}

std::string WithAttributes(const std::string& attributes) {
  return SpanText(1, "a", R"(,"attributes":[)" + attributes + "]");
}

TEST(Otlp, ASpanAsTheCollectorWritesIt) {
  const Parsed parsed = Parse(Line(
      R"({"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","parentSpanId":"eee19b7ec3c1b173",
"name":"llm_request","kind":2,"startTimeUnixNano":"1758610505947721376","endTimeUnixNano":1758610505947721999,
"attributes":[{"key":"gen_ai.request.id","value":{"stringValue":"cmpl-1"}},
{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":"9007199254740993"}},
{"key":"gen_ai.latency.e2e","value":{"doubleValue":0.25}},{"key":"cold","value":{"boolValue":false}},
{"key":"raw","value":{"bytesValue":"AAE="}},{"key":"none","value":{}},
{"key":"shape","value":{"arrayValue":{"values":[{"intValue":2},{"stringValue":"x\"y"},{"doubleValue":"NaN"}]}}},
{"key":"a","value":{"kvlistValue":{"values":[{"key":"b","value":{"kvlistValue":{"values":[{"key":"c","value":{"intValue":-1}}]}}}]}}}],
"status":{"code":2,"message":"out of memory"},
"events":[{"timeUnixNano":"1758610505947721400","name":"first_token","attributes":[{"key":"n","value":{"intValue":1}}]}]})",
      R"({"key":"service.name","value":{"stringValue":"vllm"}},{"key":"host.name","value":{"stringValue":"node7"}},)"
      R"({"key":"process.pid","value":{"intValue":"4711"}})"));
  ASSERT_EQ(parsed.spans.size(), 1U);
  const Span& span = parsed.spans[0];
  EXPECT_EQ(span.trace_id, kTrace);
  EXPECT_EQ(span.span_id, "eee19b7ec3c1b174");
  EXPECT_EQ(span.parent_span_id, "eee19b7ec3c1b173");
  EXPECT_EQ(span.name, "llm_request");
  EXPECT_EQ(span.kind, "server");
  EXPECT_EQ(span.status, "error");
  EXPECT_EQ(span.start_ns, 1758610505947721376);
  EXPECT_EQ(span.end_ns, 1758610505947721999);
  EXPECT_EQ(span.attributes,
            R"({"gen_ai.request.id":"cmpl-1","gen_ai.usage.prompt_tokens":9007199254740993,)"
            R"("gen_ai.latency.e2e":0.25,"cold":false,"raw":"AAE=","none":null,)"
            R"("shape":[2,"x\"y","NaN"],"a.b.c":-1,"otel.status_description":"out of memory"})");
  EXPECT_EQ(span.events,
            R"([{"name":"first_token","time_ns":1758610505947721400,"attributes":{"n":1}}])");
  EXPECT_EQ(parsed.origins[0].service, "vllm");
  EXPECT_EQ(parsed.origins[0].host, "node7");
  EXPECT_EQ(parsed.origins[0].pid, 4711);
  EXPECT_EQ(parsed.origins[0].scope, "vllm.llm_engine");
  EXPECT_TRUE(parsed.losses.all().empty());
}

TEST(Otlp, OtherSpellingsSayTheSame) {
  const Parsed parsed = Parse(
      R"({"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"W47/95gDgQPSabYzgT/GDA==","span_id":"7uGbfsPBsXQ=",)"
      R"("parent_span_id":"","kind":"SPAN_KIND_CLIENT","status":{"code":"STATUS_CODE_OK"},"start_time_unix_nano":1758610505947721376,)"
      R"("end_time_unix_nano":"1758610505947721999","attributes":[{"key":"k","value":{"int_value":3}}]}],)"
      R"("scope":{"name":"late"}}],"resource":{"attributes":[{"key":"service.name","value":{"string_value":"s"}}]}}]})");
  ASSERT_EQ(parsed.spans.size(), 1U);
  const Span& span = parsed.spans[0];
  EXPECT_EQ(span.trace_id, kTrace);
  EXPECT_EQ(span.span_id, "eee19b7ec3c1b174");
  EXPECT_EQ(span.parent_span_id, "");
  EXPECT_EQ(span.kind, "client");
  EXPECT_EQ(span.status, "ok");
  EXPECT_EQ(span.start_ns, 1758610505947721376);
  EXPECT_EQ(span.attributes, R"({"k":3})");
  EXPECT_EQ(parsed.origins[0].service, "s");
  EXPECT_EQ(parsed.origins[0].scope, "late");
}

TEST(Otlp, ALogRecord) {
  const Parsed parsed = Parse(fmt::format(
      R"({{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[
{{"timeUnixNano":"1758610505947721376","observedTimeUnixNano":"1758610505947721377","severityNumber":17,"severityText":"Critical",
 "body":{{"stringValue":"EngineCore died"}},"traceId":"{}","spanId":"0000000000000001","attributes":[{{"key":"l","value":{{"intValue":9}}}}]}},
{{"observedTimeUnixNano":"5","severityNumber":"SEVERITY_NUMBER_WARN2","body":{{"kvlistValue":{{"values":[{{"key":"m","value":{{"stringValue":"x"}}}}]}}}}}},
{{"timeUnixNano":"0","severityText":"Notice","body":{{}}}},{{"timeUnixNano":"soon"}},7]}}]}}]}})",
      kTrace));
  ASSERT_EQ(parsed.logs.size(), 3U);
  EXPECT_EQ(parsed.logs[0].time_ns, 1758610505947721376);
  EXPECT_EQ(parsed.logs[0].observed_ns, 1758610505947721377);
  EXPECT_EQ(parsed.logs[0].severity, "ERROR");
  EXPECT_EQ(parsed.logs[0].body, "EngineCore died");
  EXPECT_EQ(parsed.logs[0].trace_id, kTrace);
  EXPECT_EQ(parsed.logs[0].span_id, "0000000000000001");
  EXPECT_EQ(parsed.logs[0].attributes, R"({"l":9})");
  EXPECT_EQ(parsed.logs[1].time_ns, std::nullopt);
  EXPECT_EQ(parsed.logs[1].severity, "WARN");
  EXPECT_EQ(parsed.logs[1].body, R"({"m":"x"})");
  EXPECT_EQ(parsed.logs[2].time_ns, std::nullopt);
  EXPECT_EQ(parsed.logs[2].severity, "Notice");
  EXPECT_EQ(parsed.logs[2].body, "");
  EXPECT_EQ(parsed.losses.CountOf("invalid_log_record"), 2U);
}

TEST(Otlp, MetricsAreCounted) {
  const Parsed parsed = Parse(
      R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{},{}]}},)"
      R"({"name":"b","sum":{"dataPoints":[{}],"isMonotonic":true}},{"name":"c","histogram":{"dataPoints":[{}]}}]}]}]})");
  EXPECT_EQ(parsed.records, 4U);
  EXPECT_EQ(parsed.losses.CountOf("unread_metrics"), 4U);
}

TEST(Otlp, EveryPackingGivesTheSameSpans) {
  const std::string one = Line(SpanText(1, "a"));
  const std::string two = Line(SpanText(2, "b") + "," + SpanText(3, "c"));
  const Strings names = {"a", "b", "c"};
  const auto bare = [](std::string line) { return line.substr(0, line.size() - 1); };
  std::string pretty = "[" + one + "," + two + "]";
  for (const char* mark : {"{\"resource\"", "{\"trace", ",\"", "}]"}) {
    for (size_t at = 0; (at = pretty.find(mark, at)) != std::string::npos; at += 3) {
      pretty.insert(at, "\n");
    }
  }
  for (const std::string& bytes :
       {one + two, one + bare(two), "\xef\xbb\xbf" + one + "\r\n\n" + two, bare(one) + bare(two),
        "[" + bare(one) + "," + bare(two) + "]\n", "[\n" + bare(one) + ",\n" + two + "]", pretty}) {
    const Parsed parsed = Parse(bytes);
    EXPECT_EQ(parsed.Names(), names) << bytes;
    EXPECT_EQ(parsed.records, 3U) << bytes;
    EXPECT_EQ(Parse(bytes, 1).Names(), names);
    EXPECT_TRUE(otlp::LooksLikeOtlp(bytes)) << bytes;
  }
  // A resource's share alone, as the SDK for Java writes it.
  const std::string share = bare(one).substr(18);
  EXPECT_EQ(Parse(share.substr(0, share.size() - 2) + "\n").Names(), Strings{"a"});
  EXPECT_TRUE(otlp::LooksLikeOtlp(share));
}

TEST(Otlp, SpansThatAreNone) {
  const Strings broken = {
      "7",
      "{}",
      Replaced(SpanText(1, "a"), kTrace, "00000000000000000000000000000000"),
      Replaced(SpanText(1, "a"), kTrace, "5b8efff798038103d269b633813fc60"),
      Replaced(SpanText(1, "a"), kTrace, "5b8efff798038103d269b633813fc60g"),
      Replaced(SpanText(1, "a"), "0000000000000001", "AAAAAAAAAAA="),
      Replaced(SpanText(1, "a"), "\"0000000000000001\"", "1"),
      Replaced(SpanText(1, "a"), "\"1758610505947721376\"", "1758610505947721376.0"),
      Replaced(SpanText(1, "a"), "\"1758610505947721376\"", "\"1.7e18\""),
      Replaced(SpanText(1, "a"), "\"1758610505947721376\"", "-1"),
      Replaced(SpanText(1, "a"), "1758610505947721376", "9223372036854775808"),
      Replaced(SpanText(1, "a"), "1758610505947721999", "0"),
      Replaced(SpanText(1, "a"), "endTimeUnixNano", "finish")};
  std::string all = SpanText(9, "good");
  for (const std::string& span : broken) {
    EXPECT_EQ(Parse(Line(span)).losses.CountOf("invalid_span"), 1U) << span;
    all += "," + span;
  }
  const Parsed parsed = Parse(Line(all + "," + SpanText(10, "last")));
  EXPECT_EQ(parsed.Names(), (Strings{"good", "last"}));
  EXPECT_EQ(parsed.spans[1].position, broken.size() + 1);
  EXPECT_EQ(parsed.losses.CountOf("invalid_span"), broken.size());
}

TEST(Otlp, TheFirstOfEqualSpansIsKept) {
  const Parsed parsed = Parse(Line(SpanText(1, "a") + "," + SpanText(2, "b")) +
                              Line(SpanText(1, "again") + "," + SpanText(3, "c")));
  EXPECT_EQ(parsed.Names(), (Strings{"a", "b", "c"}));
  EXPECT_EQ(parsed.losses.CountOf("duplicate_span"), 1U);
  EXPECT_EQ(parsed.losses.all()[0].first_position, 1U);
}

TEST(Otlp, PrivateAttributesAreNotCopied) {
  const Parsed parsed = Parse(Line(WithAttributes(
      R"({"key":"process.command_args","value":{"arrayValue":{"values":[{"stringValue":"--key=hunter2"}]}}},)"
      R"({"key":"process.command_line","value":{"stringValue":"x --key=hunter2"}},)"
      R"({"key":"process.environment_variable.TOKEN","value":{"stringValue":"hunter2"}},)"
      R"({"key":"http.request.header.authorization","value":{"arrayValue":{"values":[{"stringValue":"Bearer hunter2"}]}}},)"
      R"({"key":"headers","value":{"kvlistValue":{"values":[{"key":"Proxy-Authorization","value":{"stringValue":"hunter2"}},)"
      R"({"key":"X-Api-Key","value":{"stringValue":"hunter2"}},{"key":"Accept","value":{"stringValue":"json"}}]}}},)"
      R"({"key":"list","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"Set-Cookie","value":{"stringValue":"hunter2"}},)"
      R"({"key":"process","value":{"kvlistValue":{"values":[{"key":"command_line","value":{"stringValue":"hunter2"}}]}}}]}}]}}},)"
      R"({"key":"deployment.environment","value":{"stringValue":"test"}},)"
      R"({"key":"gen_ai.usage.prompt_tokens","value":{"intValue":7}})")));
  ASSERT_EQ(parsed.spans.size(), 1U);
  EXPECT_EQ(parsed.spans[0].attributes,
            R"({"headers.Accept":"json","list":[{"process":{}}],"deployment.environment":"test",)"
            R"("gen_ai.usage.prompt_tokens":7})");
  EXPECT_EQ(parsed.losses.CountOf("left_out_attribute"), 8U);
}

TEST(Otlp, WhatTheProducerDroppedIsSaid) {
  const Parsed parsed = Parse(Line(
      SpanText(1, "a", R"(,"droppedAttributesCount":3,"droppedEventsCount":"2","links":[{},{}])")));
  EXPECT_EQ(parsed.rows, 1U);
  EXPECT_EQ(parsed.losses.CountOf("dropped_by_producer"), 5U);
  EXPECT_EQ(parsed.losses.CountOf("unread_link"), 2U);
}

TEST(Otlp, BytesThatAreNotJsonAreMadeGood) {
  const Parsed parsed = Parse(Line(
      WithAttributes("{\"key\":\"k\xff\",\"value\":{\"stringValue\":\"\xc3\xa9\xe2\x82 NaN\"}},"
                     "{\"key\":\"d\",\"value\":{\"doubleValue\":NaN}},"
                     "{\"key\":\"i\",\"value\":{\"doubleValue\":-Infinity}}")));
  ASSERT_EQ(parsed.spans.size(), 1U);
  EXPECT_EQ(parsed.spans[0].attributes,
            "{\"k\\\\xff\":\"\xc3\xa9\\\\xe2\\\\x82 NaN\",\"d\":\"NaN\",\"i\":\"-Infinity\"}");
  EXPECT_EQ(parsed.losses.CountOf("repaired_line"), 1U);
}

// Cut anywhere, a line costs itself and no other.
TEST(Otlp, ALineThatBreaksOffTakesNoOtherWithIt) {
  const std::string first = Line(SpanText(1, "a"));
  const std::string next = Line(SpanText(2, "b", R"(,"attributes":[{"key":"\"\\","value":{}}])"));
  for (size_t size = 1; size + 1 < first.size(); ++size) {
    const Parsed parsed = Parse(first.substr(0, size) + "\n" + next);
    EXPECT_EQ(parsed.Names(), Strings{"b"}) << size;
    EXPECT_EQ(parsed.losses.CountOf("invalid_line"), 1U) << size;
    EXPECT_EQ(parsed.losses.CountOf("cut_file"), 0U) << size;
    const Parsed cut = Parse(next + first.substr(0, size));
    EXPECT_EQ(cut.Names(), Strings{"b"}) << size;
    EXPECT_EQ(cut.losses.CountOf("invalid_line"), 1U) << size;
    EXPECT_EQ(cut.losses.CountOf("cut_file"), 1U) << size;
    EXPECT_EQ(cut.losses.all()[0].first_position, 1U);
  }
}

TEST(Otlp, LinesThatHoldNothingOfOurs) {
  const Parsed parsed = Parse(
      "{}\nnoise\n{\"a\":1}\n{\"resourceSpans\":5}\n{\"resourceSpans\":[5]}\n"
      "{\"resourceSpans\":null}\n{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":{}}]}]}\n" +
      Line(SpanText(1, "a")));
  EXPECT_EQ(parsed.Names(), Strings{"a"});
  EXPECT_EQ(parsed.losses.CountOf("invalid_line"), 5U);
  EXPECT_EQ(parsed.losses.all()[0].first_position, 1U);
}

TEST(Otlp, DepthAndLengthAreBounded) {
  const auto nested = [](size_t depth) {
    std::string value = R"({"intValue":1})";
    for (size_t i = 0; i < depth; ++i) {
      value = R"({"kvlistValue":{"values":[{"key":"k","value":)" + value + "}]}}";
    }
    return R"({"key":"r","value":)" + value + "}";
  };
  EXPECT_EQ(Parse(Line(WithAttributes(nested(3)))).spans[0].attributes, R"({"r.k.k.k":1})");
  const Parsed deep =
      Parse(Line(WithAttributes(nested(40) + R"(,{"key":"s","value":{"intValue":1}})")));
  EXPECT_EQ(deep.spans[0].attributes, R"({"s":1})");
  EXPECT_EQ(deep.losses.CountOf("dropped_attribute"), 1U);
  EXPECT_EQ(Parse(Line(std::string(100'000, '[')) + Line(SpanText(1, "a"))).Names(), Strings{"a"});
  // One that is longer than the limit.
  const std::string small = Line(SpanText(1, "a"));
  const std::string large = Line(SpanText(2, std::string(5000, 'x')));
  const Parsed cut = Parse(small + large + Line(SpanText(3, "c")), 256, 4096);
  EXPECT_EQ(cut.Names(), (Strings{"a", "c"}));
  EXPECT_EQ(cut.losses.CountOf("invalid_line"), 1U);
}

// A key on the way to many values, said once, would be written for each.
TEST(Otlp, LongKeysDoNotMultiply) {
  std::string values;
  for (int i = 0; i < 20'000; ++i) values += R"({"key":"k","value":{"intValue":1}},)";
  values.pop_back();
  const auto of = [&](size_t length) {
    return Parse(Line(WithAttributes(R"({"key":")" + std::string(length, 'x') +
                                     R"(","value":{"kvlistValue":{"values":[)" + values + "]}}}")));
  };
  EXPECT_EQ(of(2000).losses.CountOf("dropped_attribute"), 1U);
  const Parsed parsed = of(1000);
  EXPECT_LT(parsed.spans[0].attributes.size(), size_t{1} << 21);
  EXPECT_GT(parsed.losses.CountOf("dropped_attribute"), 10'000U);
  const std::string resource =
      R"({"key":"service.name","value":{"stringValue":")" + std::string(1023, 'x') + "\xc3\xa9\"}}";
  EXPECT_EQ(Parse(Line(SpanText(1, "a"), resource)).origins[0].service, std::string(1023, 'x'));
}

TEST(Otlp, OtherFilesAreNotTaken) {
  for (const char* text :
       {"", "[", "{", "[]", "{}", R"({"traceEvents":[{"name":"resourceSpans"}]})",
        R"({"a":{"resourceSpans":[]}})", R"({"a":"resourceSpans"})", R"("resourceSpans":[])",
        R"({"pg_config":{},"version":"2.9","entries":[{"resourceSpans":1}]})",
        R"(INFO {"resourceSpans":[]})", R"({"header":{"id":"0x1"}})"}) {
    EXPECT_FALSE(otlp::LooksLikeOtlp(text)) << text;
  }
  EXPECT_TRUE(otlp::LooksLikeOtlp(R"({ "schemaUrl" : "x\"}", "resourceLogs" : [)"));
}

// Damage of every kind: it ends, counts add up, and most spans of other lines stay.
TEST(Otlp, DamageEndsAndAddsUp) {
  std::mt19937 random(20260101);
  std::string whole;
  for (uint64_t i = 0; i < 20; ++i) {
    whole +=
        Line(SpanText(2 * i + 1, "a",
                      R"(,"attributes":[{"key":"k","value":{"arrayValue":{"values":[{}]}}}])") +
             "," + SpanText(2 * i + 2, "b"));
  }
  constexpr std::string_view kMarks = "{}[]\",:\\\n\xff\x00 0aN"sv;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    for (size_t n = random() % 4 + 1; n > 0; --n) {
      damaged[random() % damaged.size()] = kMarks[random() % kMarks.size()];
    }
    const Parsed parsed = Parse(damaged, 1 + random() % 4096);
    EXPECT_GE(parsed.spans.size(), 24U);
  }
}

}  // namespace
}  // namespace telltale::test
