// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace quadrille::test {

/// As much of JSON Schema as the program's schemas use; a keyword beyond that is a complaint too.
inline void complain(nlohmann::json const& schema, nlohmann::json const& root,
                     nlohmann::json const& value, std::string const& at,
                     std::vector<std::string>& complaints) {
  auto const note = [&](std::string const& what) { complaints.push_back(at + ": " + what); };
  auto const is_type = [&](std::string const& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
  };
  for (auto const& [key, rule] : schema.items()) {
    if (key == "type") {
      nlohmann::json const types = rule.is_array() ? rule : nlohmann::json::array({rule});
      if (std::ranges::none_of(
              types, [&](nlohmann::json const& t) { return is_type(t.get<std::string>()); })) {
        note("is " + value.dump() + ", not " + rule.dump());
      }
    } else if (key == "required") {
      for (nlohmann::json const& name : rule) {
        if (!value.contains(name.get<std::string>())) note("lacks " + name.dump());
      }
    } else if (key == "properties") {
      for (auto const& [name, property] : rule.items()) {
        if (value.contains(name))
          complain(property, root, value[name], at + "." + name, complaints);
      }
    } else if (key == "additionalProperties") {
      for (auto const& [name, member] : value.items()) {
        complain(rule, root, member, at + "." + name, complaints);
      }
    } else if (key == "items") {
      for (nlohmann::json const& item : value) complain(rule, root, item, at + "[]", complaints);
    } else if (key == "enum") {
      if (std::ranges::find(rule, value) == rule.end()) note("is not one of " + rule.dump());
    } else if (key == "anyOf") {
      bool const any = std::ranges::any_of(rule, [&](nlohmann::json const& one) {
        std::vector<std::string> inner;
        complain(one, root, value, at, inner);
        return inner.empty();
      });
      if (!any) note("fits none of " + rule.dump());
    } else if (key == "$ref") {
      complain(root.at(nlohmann::json::json_pointer{rule.get<std::string>().substr(1)}), root,
               value, at, complaints);
    } else if (key != "description" && key != "title" && key != "$schema" && key != "$defs") {
      note("unknown keyword " + key);
    }
  }
}

/// What the schema in this file finds wrong with a value: a line each.
inline std::string complaints_about(nlohmann::json const& value, std::string const& schema_file) {
  std::ifstream file{schema_file};
  nlohmann::json const schema = nlohmann::json::parse(file);
  std::vector<std::string> complaints;
  complain(schema, schema, value, "value", complaints);
  std::string text;
  for (std::string const& line : complaints) text += line + '\n';
  return text;
}

/// In their order.
inline std::vector<std::string> keys_of(nlohmann::ordered_json const& object) {
  std::vector<std::string> names;
  for (auto const& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace quadrille::test
