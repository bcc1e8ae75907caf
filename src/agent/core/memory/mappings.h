// What kind of mapping pageable memory lies in: only memory that no other process reaches, and no stack, may
// be guarded. In: a range. Source: the kernel, asked about one address (PROCMAP_QUERY, Linux 6.11) or by
// reading /proc/self/maps.
//
// Soundness: an answer is exact at the time of the question. It is kept for the next 15 uses of the same
// range (63 where the maps had to be read), because asking takes as long as a small copy. A kept answer can
// be wrong only if the program unmapped private memory and mapped shared memory at the same address in
// between. Calls the kernel: never under the collector's lock.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

// unknown: memory that may be executed, too. Guards would give it back without that right.
// private_file: what others write to the file may be seen there.
enum class MappingKind : uint8_t { unknown, private_memory, private_file, shared_memory, stack };

MappingKind mapping_kind(AddressRange range, bool open_memory = false);
// The same, asked anew: for answers that hold as long as memory is registered. Memory that may not be read
// and written is unknown.
MappingKind mapping_kind_now(AddressRange range);

// Memory was released: another kind may come to its addresses.
void forget_mappings();

// By reading the maps alone, as on older kernels; for mapping_kind and its test.
MappingKind mapping_kind_by_maps(AddressRange range, bool open_memory = false);

}  // namespace diogenes::agent
