#include "tools/tailor/dim_choices.h"

#include <algorithm>
#include <charconv>

#include "tools/tailor/failures.h"
#include "tools/tailor/random_tensor.h"

namespace tailor {
namespace {

constexpr size_t kMostCombinations = 10000;

int64_t ParseSize(const std::string& text, const std::string& argument) {
  int64_t size = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || stop != text.data() + text.size() || size < 0) {
    throw UsageError("--dims " + argument + ": \"" + text + "\" is no dim size");
  }
  return size;
}

// "128" or "1..512".
SizeRange ParseSizeRange(const std::string& text, const std::string& argument) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) {
    const int64_t size = ParseSize(text, argument);
    return {size, size};
  }
  const SizeRange range = {ParseSize(text.substr(0, dots), argument), ParseSize(text.substr(dots + 2), argument)};
  if (range.low > range.high) throw UsageError("--dims " + argument + ": \"" + text + "\" is an empty range");
  return range;
}

// Adds the choices of one argument.
void ParseArgument(const std::string& argument, std::vector<DimChoice>* choices) {
  const size_t before = choices->size();
  for (size_t begin = 0; begin <= argument.size();) {
    const size_t end = std::min(argument.find(',', begin), argument.size());
    std::string part = argument.substr(begin, end - begin);
    const size_t equals = part.find('=');
    if (equals != std::string::npos) {
      const std::string symbol = part.substr(0, equals);
      const bool repeated = std::any_of(choices->begin(), choices->end(), [&](auto& c) { return c.symbol == symbol; });
      if (repeated) throw UsageError("--dims " + argument + ": " + symbol + " is given twice");
      choices->push_back({symbol, {}, "--dims"});
      part = part.substr(equals + 1);
    } else if (choices->size() == before) {
      throw UsageError("--dims " + argument + ": expected SYMBOL=SIZE");
    }
    choices->back().sizes.push_back(ParseSizeRange(part, argument));
    begin = end + 1;
  }
}

// The choices, each checked against the signature; one for every symbol.
std::vector<DimChoice> Completed(const std::vector<DimChoice>& choices, const ModelSignature& signature) {
  std::vector<DimChoice> all = choices;
  for (const DimChoice& choice : choices) {
    const SymbolSpec& symbol = signature.CheckSymbol(choice.symbol, choice.where);
    for (const SizeRange& range : choice.sizes) {
      if (range.low == range.high) CheckSize(symbol, range.low, choice.where);
      const int64_t first = (range.low + symbol.multiple_of - 1) / symbol.multiple_of * symbol.multiple_of;
      if (range.low < symbol.min || range.high > symbol.max || first > range.high) {
        throw UsageError(choice.where + ": " + symbol.name + " is in " + std::to_string(range.low) + ".." +
                         std::to_string(range.high) + ", must be in [" + std::to_string(symbol.min) + ", " +
                         std::to_string(symbol.max) + "]" +
                         (symbol.multiple_of > 1 ? ", a multiple of " + std::to_string(symbol.multiple_of) : ""));
      }
    }
  }
  for (const SymbolSpec& symbol : signature.symbols) {
    const bool chosen = std::any_of(all.begin(), all.end(), [&](auto& choice) { return choice.symbol == symbol.name; });
    if (!chosen) all.push_back({symbol.name, {{DefaultSize(symbol), DefaultSize(symbol)}}, "default"});
  }
  return all;
}

int64_t DrawSize(const DimChoice& choice, int64_t multiple, uint64_t* random) {
  const SizeRange range = choice.sizes[NextRandom(random) % choice.sizes.size()];
  const int64_t first = (range.low + multiple - 1) / multiple, last = range.high / multiple;
  return (first + static_cast<int64_t>(NextRandom(random) % static_cast<uint64_t>(last - first + 1))) * multiple;
}

std::vector<SymbolValues> Combinations(const std::vector<DimChoice>& choices) {
  std::vector<SymbolValues> all = {{}};
  for (const DimChoice& choice : choices) {
    if (!choice.IsList()) throw UsageError("--dims: " + choice.symbol + " is a range: add --random N to draw N shapes");
    std::vector<SymbolValues> longer;
    if (all.size() * choice.sizes.size() > kMostCombinations) {
      throw UsageError("--dims: more than " + std::to_string(kMostCombinations) + " shapes; draw some by --random N");
    }
    for (const SymbolValues& values : all) {
      for (const SizeRange& size : choice.sizes) {
        longer.push_back(values);
        longer.back()[choice.symbol] = size.low;
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

bool DimChoice::IsList() const {
  return std::all_of(sizes.begin(), sizes.end(), [](const SizeRange& range) { return range.low == range.high; });
}

std::vector<DimChoice> ParseDimChoices(const std::vector<std::string>& arguments) {
  std::vector<DimChoice> choices;
  for (const std::string& argument : arguments) ParseArgument(argument, &choices);
  return choices;
}

void RequireSingleSizes(const std::vector<DimChoice>& choices) {
  for (const DimChoice& choice : choices) {
    if (choice.sizes.size() > 1 || !choice.IsList()) {
      throw UsageError("--dims: " + choice.symbol + " has several sizes, a run needs one (tailor bench takes several)");
    }
  }
}

std::vector<SymbolValues> DrawSizes(const std::vector<DimChoice>& choices, const ModelSignature& signature,
                                    uint64_t count, uint64_t seed) {
  const std::vector<DimChoice> all = Completed(choices, signature);
  if (count == 0) return Combinations(all);
  std::vector<SymbolValues> drawn(count);
  for (const DimChoice& choice : all) {
    uint64_t random = SeedFor(seed, "dims " + choice.symbol);
    for (SymbolValues& values : drawn) {
      values[choice.symbol] = DrawSize(choice, signature.Find(choice.symbol)->multiple_of, &random);
    }
  }
  return drawn;
}

}  // namespace tailor
