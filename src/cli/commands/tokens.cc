// `telltale tokens`: structural tokens of steps.

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/text.h"
#include "cli/commands/list.h"
#include "cli/commands/tokens_output.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/store_access.h"
#include "tokens/learn.h"
#include "tokens/load_call_trees.h"

namespace telltale::cli {
namespace {

struct TokensCommand {
  std::string vocabulary;
  std::string out;
  std::string file;  // of encoded steps
  std::string steps;
  std::string run;
  std::optional<int64_t> rank;
  size_t size = 256;
  bool force = false;
  std::optional<size_t> top;
};

unsigned Threads() { return std::max(1u, std::thread::hardware_concurrency()); }

// "0-9,12": numbers and ranges of them.
std::vector<size_t> StepNumbers(const std::string& text) {
  const auto fail = [&]() -> CommandFailure {
    return CommandFailure(
        fmt::format("--steps {}: expected numbers and ranges such as 0-9,12", Visible(text)),
        kExitUsage);
  };
  constexpr size_t kMostSteps = 1'000'000;
  std::vector<size_t> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, end - at);
    const size_t dash = part.find('-');
    const auto first = NumberOf<size_t>(part.substr(0, dash));
    const auto last = dash == part.npos ? first : NumberOf<size_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first) throw fail();
    if (*last - *first >= kMostSteps - numbers.size()) {
      throw CommandFailure(fmt::format("--steps names more than {} steps", kMostSteps), kExitUsage);
    }
    for (size_t i = 0; i <= *last - *first; ++i) numbers.push_back(*first + i);
    at = end + 1;
  }
  return numbers;
}

tokens::CallTrees Load(const TokensCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  std::optional<std::vector<size_t>> steps;
  if (!options.steps.empty()) steps = StepNumbers(options.steps);
  tokens::CallTrees trees =
      ValueOrThrow(tokens::LoadCallTrees(*opened.connection, {options.run, options.rank}, steps));
  OkOrThrow(tokens::CheckTrees(trees));
  return trees;
}

tokens::Codec Learned(const tokens::CallTrees& trees, const TokensCommand& options) {
  return ValueOrThrow(tokens::LearnVocabulary(trees, {options.size, Threads()}));
}

// What a file tells must not reach the terminal as it is.
CommandFailure Within(const std::string& path, const Error& error) {
  constexpr size_t kMostBytes = 1000;
  return CommandFailure(Shortened(Visible(error.Within(path).message), kMostBytes));
}

tokens::Codec ReadVocabulary(const std::string& path) {
  const std::string text = ReadWholeFile(path, [](std::string_view head) -> Status {
    const size_t begin = head.find_first_not_of(" \t\r\n");
    if (begin != head.npos && head[begin] == '{') return {};
    return Fail("it is not a vocabulary of structural tokens; `telltale tokens train` writes one");
  });
  auto vocabulary = tokens::ParseVocabulary(text);
  if (!vocabulary) throw Within(path, vocabulary.error());
  auto codec = tokens::Codec::Make(std::move(*vocabulary));
  if (!codec) throw Within(path, codec.error());
  return std::move(*codec);
}

// The vocabulary asked for, or else one that is learned from these steps.
tokens::Codec CodecFor(const tokens::CallTrees& trees, const TokensCommand& options,
                       const GlobalOptions& global) {
  if (!options.vocabulary.empty()) return ReadVocabulary(options.vocabulary);
  if (!global.quiet) {
    fmt::print(stderr, "no --vocab: one of {} tokens is learned from these steps\n", options.size);
  }
  return Learned(trees, options);
}

void WriteText(const std::string& path, std::string_view text) {
  WriteFile(path, [&](const FileWriter& write) { return write(text); });
}

void RunTrain(const TokensCommand& options, const GlobalOptions& global) {
  RequireOtherFile(options.out, global.store);
  // Steps that were encoded with the one that is there could never be decoded again.
  std::error_code error;
  if (!options.force && std::filesystem::is_regular_file(options.out, error)) {
    throw CommandFailure(fmt::format("{} exists; --force overwrites it", options.out));
  }
  const tokens::CallTrees trees = Load(options, global);
  const tokens::Codec codec = Learned(trees, options);
  WriteText(options.out, tokens::VocabularyText(codec.vocabulary()));
  if (!global.quiet) {
    const tokens::TokenStats stats = StatsOf(codec, tokens::EncodeSteps(codec, trees, Threads()));
    fmt::print(stderr, "{} tokens from {} steps of {:.1f} events; they become {:.1f} symbols\n",
               codec.vocabulary().tokens.size(), stats.steps, stats.NodesPerStep(),
               stats.SymbolsPerStep());
  }
}

void RunEncode(const TokensCommand& options, const GlobalOptions& global) {
  RequireOtherFile(options.out, global.store);
  RequireOtherFile(options.out, options.vocabulary);
  const tokens::CallTrees trees = Load(options, global);
  const tokens::Codec codec = ReadVocabulary(options.vocabulary);
  const tokens::EncodedSteps steps = tokens::EncodeSteps(codec, trees, Threads());
  if (options.out.empty()) {
    // What other programs read is whole.
    const size_t top = global.format == Format::kTable ? 200 : 0;
    return PrintSymbols(codec, steps, trees, options.top.value_or(top), global);
  }
  const std::string file = ValueOrThrow(tokens::EncodedFile(steps));
  WriteText(options.out, file);
  if (!global.quiet) {
    fmt::print(stderr, "{} steps, {} events in {}\n", trees.Steps(), trees.Nodes(),
               BytesText(static_cast<double>(file.size())));
  }
}

void RunDecode(const TokensCommand& options, const GlobalOptions& global) {
  if (options.file == "-" && options.vocabulary == "-") {
    throw CommandFailure("only one of FILE and --vocab can be standard input", kExitUsage);
  }
  const tokens::Codec codec = ReadVocabulary(options.vocabulary);
  auto steps = tokens::ParseEncoded(ReadWholeFile(options.file, tokens::CheckEncodedHead));
  if (!steps) throw Within(options.file, steps.error());
  if (!options.steps.empty()) {
    const std::vector<size_t> wanted = StepNumbers(options.steps);
    for (const size_t number : wanted) {
      if (std::none_of(steps->steps.begin(), steps->steps.end(),
                       [&](const auto& step) { return step.number == number; })) {
        throw CommandFailure(fmt::format("{}: it holds no step {}", options.file, number));
      }
    }
    std::erase_if(steps->steps, [&](const auto& step) {
      return std::find(wanted.begin(), wanted.end(), step.number) == wanted.end();
    });
  }
  const auto trees = tokens::DecodeSteps(codec, *steps);
  if (!trees) throw Within(options.file, trees.error());
  PrintTrees(*trees, global);
}

void RunStats(const TokensCommand& options, const GlobalOptions& global) {
  const tokens::CallTrees trees = Load(options, global);
  const tokens::Codec codec = CodecFor(trees, options, global);
  PrintStats(StatsOf(codec, tokens::EncodeSteps(codec, trees, Threads())), codec.vocabulary(),
             global);
}

void RunVerify(const TokensCommand& options, const GlobalOptions& global) {
  const tokens::CallTrees trees = Load(options, global);
  const tokens::Codec codec = CodecFor(trees, options, global);
  // Through all that a file goes through.
  const std::string file =
      ValueOrThrow(tokens::EncodedFile(tokens::EncodeSteps(codec, trees, Threads())));
  const tokens::EncodedSteps read = ValueOrThrow(tokens::ParseEncoded(ContentOf(file)));
  const auto decoded = tokens::DecodeSteps(codec, read);
  const std::string difference =
      decoded ? tokens::DifferenceOf(trees, *decoded) : decoded.error().message;
  PrintVerified(trees, difference, global);
  if (!difference.empty()) throw CommandFailure("the steps do not come back: " + difference);
}

void AddFilters(CLI::App& command, TokensCommand& options) {
  command.add_option("--steps", options.steps,
                     "only these steps, as `telltale chain` numbers them with the same --run and "
                     "--rank: 0-9,12");
  command.add_option("--run", options.run, "only this run");
  command.add_option("--rank", options.rank, "only this global rank");
}

CLI::Option* AddSize(CLI::App& command, TokensCommand& options) {
  return command.add_option("--size", options.size, "tokens of the vocabulary (256)")
      ->check(CLI::Range(tokens::kSmallestVocabulary, tokens::kLargestVocabulary));
}

void AddReadOptions(CLI::App& command, TokensCommand& options) {
  AddFilters(command, options);
  command
      .add_option("--vocab", options.vocabulary,
                  "vocabulary that `tokens train` wrote; without one, it is learned from these "
                  "steps")
      ->excludes(AddSize(command, options));
}

constexpr const char* kHelp = R"(
A structural token stands for a subtree of a call chain, or for siblings in it: a layer that runs 32
times is one token and a number. Names and structure are said by tokens of a vocabulary that was
learned once, on steps that were healthy; times and ids are kept exactly beside them, as how they
differ from what the place in the grammar normally takes. What a vocabulary has never seen is
written event by event, so that nothing is unknown, and nothing is lost.

Examples:
  telltale tokens train --steps 0-99 --out vocab.json
  telltale tokens stats --vocab vocab.json
  telltale tokens encode --vocab vocab.json --steps 7
  telltale tokens encode --vocab vocab.json --out steps.tokens
  telltale tokens decode steps.tokens --vocab vocab.json --format csv
  telltale tokens verify)";

}  // namespace

void AddTokensCommand(CLI::App& app, GlobalOptions& global) {
  CLI::App* command =
      app.add_subcommand("tokens", "steps as structural tokens: a lossless grammar of call chains");
  command->require_subcommand(1);
  command->fallthrough();
  command->footer(kHelp);
  const auto add = [&](const char* name, const char* help, auto run) {
    auto options = std::make_shared<TokensCommand>();
    CLI::App* subcommand = command->add_subcommand(name, help);
    subcommand->fallthrough();
    subcommand->callback([options, &global, run] { run(*options, global); });
    return std::pair(subcommand, options);
  };
  {
    const auto [train, options] =
        add("train", "learn a vocabulary from steps and write it to a file", RunTrain);
    AddFilters(*train, *options);
    AddSize(*train, *options);
    train->add_option("--out", options->out, "file to write, - for standard output")->required();
    train->add_flag("--force", options->force, "overwrite a file that exists");
  }
  {
    const auto [encode, options] = add(
        "encode", "the tokens of steps; or with --out, a file that holds all of them", RunEncode);
    AddFilters(*encode, *options);
    encode->add_option("--vocab", options->vocabulary, "vocabulary that `tokens train` wrote")
        ->required();
    encode->add_option("--out", options->out,
                       "write the encoded steps to this file, - for standard output");
    encode
        ->add_option("--top", options->top,
                     "without --out, so many rows (as a table 200, else all); 0 for all")
        ->check(CLI::NonNegativeNumber);
  }
  {
    const auto [decode, options] =
        add("decode", "call chains from a file that `tokens encode` wrote", RunDecode);
    decode->add_option("FILE", options->file, "encoded steps, - for standard input")->required();
    decode->add_option("--vocab", options->vocabulary, "the vocabulary that they were encoded with")
        ->required();
    decode->add_option("--steps", options->steps, "only these steps: 0-9,12");
  }
  {
    const auto [stats, options] =
        add("stats", "events and symbols of a step, with and without the dictionary; what is novel",
            RunStats);
    AddReadOptions(*stats, *options);
  }
  {
    const auto [verify, options] =
        add("verify", "encode steps, decode them, and compare every value", RunVerify);
    AddReadOptions(*verify, *options);
  }
}

}  // namespace telltale::cli
