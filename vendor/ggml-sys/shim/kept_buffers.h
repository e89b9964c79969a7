// Memory of the CPU's buffers: huge pages, and compute buffers that are kept for the next graph.
//
// A module's compute buffer is freed as soon as it has run, and the system clears each page of the next one as it is used first: for small
// pictures that is a third of the time. So their memory stays mapped, in huge pages where the system has them, and parts of it become the
// next buffers. Weights and devices other than the CPU have nothing to do with it.
//
// Never more is mapped than buffers took at one time since memory was given back last: a picture peaks where its estimate says. What is
// kept goes back to the system where weights are allocated in RAM, beyond a limit, and when atelier_release_kept_buffers is called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ggml-backend.h"

namespace atelier {

// Asks the system for huge pages in memory that is about to be written: each page that is written first is a fault, and with small pages
// these take longer than reading weights from the system's cache. Where there are none, nothing changes.
void wish_huge_pages(void* memory, size_t bytes);

// Type of the buffers of a graph's values on this backend: the one that is kept for the CPU, else the backend's default.
// ATELIER_KEEP_BUFFERS=0 in the environment switches it off.
ggml_backend_buffer_type_t compute_buffer_type(ggml_backend_t backend);

}  // namespace atelier
