// The metadata section: a Program without its bytes, as the FlatBuffer of artifact.fbs.
#ifndef TAILOR_SERIALIZATION_METADATA_H_
#define TAILOR_SERIALIZATION_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/contract/program.h"

namespace tailor {

// Where one image or constant lies in its section.
struct ItemPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct MetadataPlaces {
  std::vector<ItemPlace> images;     // as ForEachImage goes
  std::vector<ItemPlace> constants;  // by constant
  uint64_t images_size = 0;          // of the sections, padding included
  uint64_t constants_size = 0;
};

// Calls visit(image) for the bytes of every image of `program`, a Program or const Program, in the order in which they
// lie in their section: of each variant that of its host program, then those for its device.
template <typename AnyProgram, typename Visit>
void ForEachImage(AnyProgram& program, Visit visit) {
  for (auto& variant : program.variants) {
    visit(variant.image);
    for (auto& image : variant.device_images) visit(image.bytes);
  }
}

// The one placement that a program has: items in order, each padded to kItemAlignment. False where sizes
// leave uint64.
bool PlaceItems(const Program& program, MetadataPlaces* places);

std::vector<uint8_t> EncodeMetadata(const Program& program, const MetadataPlaces& places);

// Verifies the encoding and fills `program`, leaving its spans empty, and `places`, where items follow each
// other as PlaceItems would put them. Returns what is wrong, or "". `bytes` must be 64-byte aligned. Before it
// allocates it refuses vectors that are not aligned, and parts that are shared so often that they would unpack to more
// than `bytes` are: memory is at most some 20 times their size.
std::string DecodeMetadata(std::span<const std::byte> bytes, Program* program, MetadataPlaces* places);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_METADATA_H_
