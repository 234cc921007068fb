// The metadata section: a Program without its code and constants, encoded as the FlatBuffer of artifact.fbs.
#ifndef TAILOR_SERIALIZATION_METADATA_H_
#define TAILOR_SERIALIZATION_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/contract/program.h"

namespace tailor {

// Position of an image or constant within its section, in bytes.
struct ItemPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct MetadataPlaces {
  std::vector<ItemPlace> images;     // in the order of ForEachImage
  std::vector<ItemPlace> constants;  // by constant index
  uint64_t images_size = 0;          // section sizes in bytes, padding included
  uint64_t constants_size = 0;
};

// Calls visit(image) for the bytes of every image of `program` (a Program or const Program), in section order: for each
// variant, the image of its host program, then its device images.
template <typename AnyProgram, typename Visit>
void ForEachImage(AnyProgram& program, Visit visit) {
  for (auto& variant : program.variants) {
    visit(variant.image);
    for (auto& image : variant.device_images) visit(image.bytes);
  }
}

// Computes the canonical placement: items in order, each padded to kItemAlignment. False on overflow of uint64.
bool PlaceItems(const Program& program, MetadataPlaces* places);

std::vector<uint8_t> EncodeMetadata(const Program& program, const MetadataPlaces& places);

// Verifies the encoding. Fills `program`, leaving its spans empty, and `places`, which must be as PlaceItems computes
// them. Returns the problem, or "". `bytes` must be 64-byte aligned. Before it allocates, it rejects misaligned
// vectors, and parts shared so often that they would decode to more bytes than `bytes` has: so memory stays below about
// 20 times their size.
std::string DecodeMetadata(std::span<const std::byte> bytes, Program* program, MetadataPlaces* places);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_METADATA_H_
