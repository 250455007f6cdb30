// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Linked into every program of a build with sanitizers, so that LeakSanitizer speaks of our own
// memory only.

extern "C" {

// GCC 12's runtime takes one in 256 blocks of thread-local storage for one that an old glibc made,
// reads its bounds where there are none and dies: "Tracer caught signal 11". Which suppressions
// applied is none of what a program prints.
char const* __asan_default_options();
char const* __asan_default_options() { return "intercept_tls_get_addr=0:print_suppressions=0"; }

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

// What MPI allocates to start is its own, also where libc's inner names are not known. Programs
// without MPI leave the weak name open.
void __lsan_disable();
void __lsan_enable();
int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) __attribute__((weak));
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  __lsan_disable();
  int const status = PMPI_Init_thread(argc, argv, required, provided);
  __lsan_enable();
  return status;
}

}  // extern "C"
