// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Linked into every program of a build with sanitizers, so that LeakSanitizer speaks of our own
// memory only.

extern "C" {

// Open MPI unloads its plug-ins at the end; with them would go the names that suppressions match.
int dlclose(void* /*library*/);
int dlclose(void* /*library*/) { return 0; }

char const* __lsan_default_suppressions();
char const* __lsan_default_suppressions() {
  return "leak:libmpi\n"
         "leak:libopen-\n"
         "leak:mca_\n"
         "leak:libpmix\n"
         "leak:libhwloc\n"
         // Open MPI's and PMIx' asprintf: libc keeps no frame pointers, so the caller is lost.
         "leak:__vasprintf_internal\n";
}

}  // extern "C"
