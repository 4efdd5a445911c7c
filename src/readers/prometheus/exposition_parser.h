#pragma once

// Prometheus' text exposition, version 0.0.4, and OpenMetrics 1.0: what exporters (DCGM, vLLM,
// SGLang) give when they are asked for their metrics, one scrape or several after each other. Each
// line that is neither empty nor a comment is a sample or a loss of class line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "readers/loss_counts.h"

namespace telltale::prometheus {

using Labels = std::vector<std::pair<std::string, std::string>>;  // name and value, by name

// Samples of one name and the same labels.
struct Series {
  uint64_t number = 0;  // in the file, from 0
  std::string name;
  std::string type;  // counter, gauge, histogram, summary …; empty: not said
  std::string help;  // cut to some length
  Labels labels;
};

struct Sample {
  uint64_t series = 0;
  uint64_t line = 0;               // of the file, from 0
  uint64_t scrape = 0;             // number of the scrape in the file, from 0
  std::optional<int64_t> time_ns;  // since 1970, as the line itself says
  double value = 0;
};

class SampleSink {
 public:
  virtual ~SampleSink() = default;
  virtual Status Take(const Series& series) = 0;  // before its first sample
  virtual Status Take(const Sample& sample) = 0;
};

// A sample's line taken apart.
struct SampleLine {
  std::string name;
  Labels labels;
  double value = 0;
  std::optional<int64_t> time_ns;
  bool has_exemplar = false;
};

// False: the line is none.
bool ReadSampleLine(std::string_view line, SampleLine& sample);

// Whether the first bytes of a file are an exposition. That of the NCCL Inspector is not for this
// reader: its gauges are means over whatever a window held, without rank or communicator.
bool LooksLikeExposition(std::string_view head);

// One thread at a time. Errors are those of the sink; nothing in a file is one.
class ExpositionParser {
 public:
  explicit ExpositionParser(SampleSink& sink) : sink_(sink) {}

  // Windows of whole lines, as LineWindow gives them. `is_cut`: the window is one line, whose rest
  // was not kept.
  Status ParseWindow(std::string_view window, bool is_cut);

  uint64_t records() const { return records_; }
  uint64_t rows() const { return rows_; }
  bool is_open_metrics() const { return is_open_metrics_; }
  // Positions are lines of the file, from 0.
  const LossCounts& losses() const { return losses_; }

 private:
  // What comments say of a metric.
  struct About {
    std::string type, help;
  };
  struct Known {
    uint64_t number = 0;
    uint64_t scrape = 0;  // the last that has it
  };

  void ParseComment(std::string_view comment);
  Status ParseSample(std::string_view line);
  Result<Known*> FindSeries();
  About AboutName(std::string_view name) const;
  void Lose(std::string_view kind, std::string_view detail) {
    losses_.Add(kind, "line", 1, line_, detail);
  }

  SampleSink& sink_;
  SampleLine sample_;
  std::string key_;
  std::unordered_map<std::string, About> about_;
  std::unordered_map<std::string, Known> series_;
  size_t held_bytes_ = 0;  // of both
  LossCounts losses_;
  uint64_t line_ = 0;
  uint64_t scrape_ = 0;
  uint64_t records_ = 0;
  uint64_t rows_ = 0;
  bool is_open_metrics_ = false;
};

}  // namespace telltale::prometheus
