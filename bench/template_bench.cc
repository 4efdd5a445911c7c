// The template miner on generated messages of engines: lines a second on one thread, and how well
// lines are grouped, beside Drain as Drain3 does it (masks by regular expressions, tokens as
// strings, one tree). The reference is written here for its grouping. Its speed is that of
// std::regex, which is slow: it says nothing about Drain3 itself, whose makers and others report
// some ten times as many lines a second.
//
//   template_bench [--lines 2000000] [--reference-lines 20000] [--runs 3] [--seed 1]
//                  [--telltale build/release/telltale --work build/bench] [--source .]
//
// With the program it also measures Drain in Python and whole ingests of such a log, from a file
// into a new store, beside DuckDB reading the same lines into a table of one column.
//
// Writes rows of build/bench.json, one a line.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/measure.h"
#include "readers/log/template_measures.h"
#include "readers/log/template_merge.h"
#include "readers/log/template_miner.h"
#include "simulate/labelled_log.h"
#include "store/database.h"

namespace {

using telltale::bench::PrintRow;
using telltale::log::TemplateMeasures;
using telltale::simulate::LabelledLog;

struct Outcome {
  std::vector<uint32_t> groups;
  std::vector<std::string> texts;
  double seconds = 0;
};

Outcome MineOurs(const std::vector<std::string>& messages) {
  Outcome outcome;
  outcome.groups.reserve(messages.size());
  const auto start = std::chrono::steady_clock::now();
  telltale::log::TemplateMiner miner;
  for (const std::string& message : messages) outcome.groups.push_back(miner.Add(message));
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < miner.size(); ++i) texts.push_back(miner.Text(i));
  auto merged = telltale::log::MergeTemplates(texts);
  for (uint32_t& group : outcome.groups) group = merged.groups[group];
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  outcome.seconds = elapsed.count();
  outcome.texts = std::move(merged.texts);
  return outcome;
}

// The reference: Drain with depth 4, similarity 0.4 and 100 children, masks as regular expressions.
class ReferenceDrain {
 public:
  uint32_t Add(std::string message) {
    for (const auto& [pattern, mark] : masks_) message = std::regex_replace(message, pattern, mark);
    std::vector<std::string> tokens;
    for (size_t at = 0; at < message.size();) {
      const size_t end = std::min(message.find(' ', at), message.size());
      if (end != at) tokens.push_back(message.substr(at, end - at));
      at = end + 1;
    }
    std::vector<uint32_t>& leaf = LeafOf(tokens);
    double most = -1;
    size_t most_wild = 0;
    uint32_t best = 0;
    for (const uint32_t number : leaf) {
      size_t equal = 0, wild = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        if (templates_[number][i] == "<*>")
          ++wild;
        else if (templates_[number][i] == tokens[i])
          ++equal;
      }
      const double similarity =
          tokens.empty() ? 1 : static_cast<double>(equal) / static_cast<double>(tokens.size());
      if (similarity < most || (similarity == most && wild <= most_wild)) continue;
      most = similarity;
      most_wild = wild;
      best = number;
    }
    if (most < 0.4) {
      leaf.push_back(static_cast<uint32_t>(templates_.size()));
      templates_.push_back(std::move(tokens));
      return leaf.back();
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (templates_[best][i] != tokens[i]) templates_[best][i] = "<*>";
    }
    return best;
  }

  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const auto& tokens : templates_)
      texts.push_back(fmt::format("{}", fmt::join(tokens, " ")));
    return texts;
  }

 private:
  std::vector<uint32_t>& LeafOf(const std::vector<std::string>& tokens) {
    auto& children = tree_[tokens.size()];
    std::string first = tokens.empty() ? "" : tokens.front();
    const bool has_digit = first.find_first_of("0123456789") != first.npos;
    if (has_digit || (!children.contains(first) && children.size() >= 100)) first = "<*>";
    return children[first];
  }

  // As in the examples of Drain3: hexadecimal ids, addresses, hexadecimal numbers, numbers.
  std::vector<std::pair<std::regex, std::string>> masks_ = {
      {std::regex("\\b([0-9a-f]{2,}:){3,}[0-9a-f]{2,}\\b", std::regex::optimize), "<*>"},
      {std::regex("\\b[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\b", std::regex::optimize),
       "<*>"},
      {std::regex("\\b[0-9a-f]{6,}( [0-9a-f]{6,})+\\b", std::regex::optimize), "<*>"},
      {std::regex("\\b0x[a-fA-F0-9]+\\b", std::regex::optimize), "<*>"},
      {std::regex("\\b[0-9a-f]{16,}\\b", std::regex::optimize), "<*>"},
      {std::regex("[-+]?\\b[0-9]+(\\.[0-9]+)?\\b", std::regex::optimize), "<*>"},
  };
  std::map<size_t, std::map<std::string, std::vector<uint32_t>>> tree_;
  std::vector<std::vector<std::string>> templates_;
};

Outcome MineReference(const std::vector<std::string>& messages) {
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  ReferenceDrain drain;
  for (const std::string& message : messages) outcome.groups.push_back(drain.Add(message));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  outcome.seconds = elapsed.count();
  outcome.texts = drain.Texts();
  return outcome;
}

TemplateMeasures MeasuresOf(const Outcome& outcome, const LabelledLog& log) {
  return telltale::log::MeasureTemplates(outcome.groups, outcome.texts, log.labels, log.templates);
}

// Lines a second of Drain in Python (drain_reference.py); 0 where there is no Python.
double PythonSpeed(const std::string& source_folder, const std::string& work,
                   const std::vector<std::string>& messages) {
  const std::string path = work + "/messages.txt";
  std::ofstream file(path);
  for (const std::string& message : messages) file << message << '\n';
  file.close();
  const std::string command = "python3 " + source_folder + "/bench/drain_reference.py " + path;
  double speed = 0;
  if (std::FILE* const pipe = popen(command.c_str(), "r"); pipe != nullptr) {
    if (std::fscanf(pipe, "%lf", &speed) != 1) speed = 0;
    (void)pclose(pipe);
  }
  std::filesystem::remove(path);
  return speed;
}

// Lines as vLLM's engine writes them.
void WriteLog(const std::string& path, const LabelledLog& log) {
  std::ofstream file(path);
  for (size_t i = 0; i < log.messages.size(); ++i) {
    const size_t second = i / 2000;
    file << fmt::format("(EngineCore_DP0 pid=11727) INFO 02-20 {:02}:{:02}:{:02} [core.py:{}] {}\n",
                        second / 3600 % 24, second / 60 % 60, second % 60, log.labels[i] + 100,
                        log.messages[i]);
  }
}

void MeasureIngest(const std::string& telltale, const std::string& work, const LabelledLog& log,
                   int runs) {
  const std::string path = work + "/engine.log";
  const std::string store = work + "/log-bench.duckdb";
  WriteLog(path, log);
  const auto remove = [&] { telltale::bench::RemoveStore(store); };
  const auto comparison = telltale::bench::Compare(
      runs, runs,
      {remove,
       [&] {
         telltale::bench::Execute({telltale, "--quiet", "--store", store, "ingest", path});
       }},
      {remove, [&] {
         telltale::DatabaseOptions options;
         options.access = telltale::Access::kReadWrite;
         const auto database = telltale::Database::Open(store, options);
         const auto connection = (*database)->Connect();
         const telltale::Status status =
             (*connection)
                 ->Run("CREATE TABLE lines AS SELECT * FROM read_csv('" + path +
                       "', columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='', "
                       "header=false)");
         if (!status) {
           fmt::print(stderr, "bench: {}\n", status.error().message);
           _exit(1);
         }
       }});
  const double lines = static_cast<double>(log.messages.size());
  PrintRow("log_ingest", lines / telltale::bench::Median(comparison.ours) / 1e6,
           lines / telltale::bench::Median(comparison.reference) / 1e6,
           telltale::bench::Median(comparison.ratios), "M lines/s", ">= 1",
           fmt::format("template_bench, {} lines from a file into a new store; reference: DuckDB "
                       "reads the lines into one column",
                       log.messages.size()));
  PrintRow("log_ingest_memory", comparison.peak_bytes / 1e6, comparison.reference_peak_bytes / 1e6,
           0, "MB", "", "as above");
  remove();
  std::filesystem::remove(path);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"--lines", "2000000"},
                                               {"--reference-lines", "20000"},
                                               {"--runs", "3"},
                                               {"--seed", "1"},
                                               {"--source", "."}};
  for (int i = 1; i + 1 < argc; i += 2) option[argv[i]] = argv[i + 1];
  const uint64_t seed = std::strtoull(option["--seed"].c_str(), nullptr, 10);
  const auto count = [&](const char* name) {
    return static_cast<size_t>(std::strtoull(option[name].c_str(), nullptr, 10));
  };
  using telltale::simulate::EngineStatements;
  using telltale::simulate::HeldOutStatements;
  using telltale::simulate::MakeLabelledLog;

  const size_t reference_lines = count("--reference-lines");
  {
    const LabelledLog log = MakeLabelledLog(seed, count("--lines"), EngineStatements());
    const std::vector<std::string> some(
        log.messages.begin(), log.messages.begin() + static_cast<ptrdiff_t>(std::min(
                                                         reference_lines, log.messages.size())));
    std::vector<double> ours, reference;
    for (size_t run = 0; run < std::max<size_t>(1, count("--runs")); ++run) {
      ours.push_back(static_cast<double>(log.messages.size()) / MineOurs(log.messages).seconds);
      reference.push_back(static_cast<double>(some.size()) / MineReference(some).seconds);
    }
    const double mine = telltale::bench::Median(ours), other = telltale::bench::Median(reference);
    PrintRow("log_template_speed", mine / 1e6, other / 1e6, mine / other, "M lines/s", ">= 1",
             fmt::format("template_bench, {} messages, one thread; reference: Drain with regular "
                         "expressions, {} of them",
                         log.messages.size(), some.size()));
    if (option.contains("--telltale")) {
      const double python = PythonSpeed(option["--source"], option["--work"], some);
      PrintRow("log_template_speed_python", mine / 1e6, python / 1e6,
               python > 0 ? mine / python : 0, "M lines/s", ">= 1",
               fmt::format("template_bench, one thread; reference: drain_reference.py, {} messages",
                           some.size()));
      MeasureIngest(option["--telltale"], option["--work"], log, static_cast<int>(count("--runs")));
    }
  }
  const std::pair<const char*, std::vector<std::string_view>> sets[] = {
      {"engines", EngineStatements()}, {"held_out", HeldOutStatements()}};
  for (const auto& [name, statements] : sets) {
    const bool has_target = std::string_view(name) == "engines";
    for (const size_t lines : {2000, 20000, 200000}) {
      const LabelledLog log = MakeLabelledLog(seed, lines, statements);
      const TemplateMeasures ours = MeasuresOf(MineOurs(log.messages), log);
      // Grouping of the reference hardly changes with more lines, but its time would.
      const bool compared = lines <= reference_lines;
      const TemplateMeasures other =
          compared ? MeasuresOf(MineReference(log.messages), log) : TemplateMeasures{};
      const std::string command = fmt::format(
          "template_bench, {} statements of {}, {} lines, seed {}; reference: Drain with regular "
          "expressions",
          ours.true_groups, name, lines, seed);
      const auto row = [&](const char* what, double mine, double reference, const char* target) {
        PrintRow(fmt::format("log_template_{}_{}_{}", what, name, lines), mine, reference,
                 compared && reference > 0 ? mine / reference : 0, "share", target, command);
      };
      row("grouping_accuracy", ours.grouping_accuracy, other.grouping_accuracy,
          has_target ? ">= 0.95" : "");
      row("group_f1", ours.group_f1, other.group_f1, has_target ? ">= 0.9" : "");
      row("parsing_accuracy", ours.parsing_accuracy, other.parsing_accuracy, "");
    }
  }
  return 0;
}
