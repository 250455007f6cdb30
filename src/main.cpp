// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

int main() { return static_cast<int>(quadrille::core::Exit::nothing_executed); }
