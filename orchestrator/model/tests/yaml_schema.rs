//! The JSON Schemas: complete, documented, and of one mind with the parser about the good files.
#![allow(clippy::unwrap_used)]

use kab_model::yaml::{schema_experiment, schema_lab};
use serde_json::{Value, json};

#[test]
fn schemas_as_published() {
    insta::assert_json_snapshot!("experiment", schema_experiment());
    insta::assert_json_snapshot!("lab", schema_lab());
}

#[test]
fn every_key_is_described() {
    for schema in [schema_experiment(), schema_lab()] {
        each_property(&schema, &mut |name, property| {
            let doc = property["description"].as_str().unwrap_or_else(|| panic!("{name} has no description"));
            assert!(doc.len() > 5, "{name}");
        });
    }
}

/// Calls for each `properties` entry, at any depth, except for the kinds of a choice, which describe themselves.
fn each_property(schema: &Value, call: &mut impl FnMut(&str, &Value)) {
    let Some(object) = schema.as_object() else { return };
    let is_choice = object.get("properties").is_some_and(|properties| {
        object.contains_key("description")
            && properties.as_object().unwrap().len() == 1
            && !schema["required"].is_null()
    });
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !is_choice {
            call(name, property);
        }
        each_property(property, call);
    }
    for key in ["items", "additionalProperties"] {
        each_property(&schema[key], call);
    }
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        each_property(alternative, call);
    }
}

#[test]
fn a_good_experiment_validates() {
    let experiment = json!({
        "name": "x",
        "kernel": {"repo": "~/src/linux", "config": ["defconfig"], "toolchain": "gcc"},
        "variants": {"a b": {"ref": 1_234_567}, "b": {"ref": "v6.16", "series": "./x.mbox"}},
        "against": [["b", "a b"]],
        "boards": ["vm"],
        "target": "ufs0",
        "workloads": [
            {"name": "r", "fio": {"rw": "read", "direct": 1}, "matrix": {"bs": ["4k", 512]}},
            {"name": "w", "fio": {"time_based": true}, "matrix": [{"bs": ["4k"]}], "exclude": {"bs": "4k"}},
        ],
        "schedule": {"visits": 8, "order": "random", "cooldown": {"seconds": 5}, "seed": 1},
        "report": {"primary": "iops", "metrics": ["iops"], "same_within": {"iops": "2%"}},
    });
    assert_eq!(violations(&schema_experiment(), &experiment, ""), Vec::<String>::new());

    let lab = json!({"boards": {"vm": {
        "arch": "x86_64",
        "boot": {"qemu": {"memory": "1GiB", "disks": [{"ufs": {"name": "u", "size": "1g", "mcq": true}}]}},
        "boot_timeout": "1m30s",
    }}});
    assert_eq!(violations(&schema_lab(), &lab, ""), Vec::<String>::new());
}

#[test]
fn a_bad_experiment_does_not() {
    let experiment = json!({
        "variants": {"a": {"reff": "v6.15"}},
        "boards": [],
        "tuning": "performance",
        "workloads": [{"name": "r", "fio": {"rw": ["read"]}}],
        "schedule": {"visits": 0, "order": "randon"},
        "report": {"primary": "iop"},
    });
    let places = violations(&schema_experiment(), &experiment, "");
    let expected = [
        " lacks name",
        "/variants/a/reff",
        "/boards",
        "/tuning",
        "/workloads/0/fio/rw",
        "/schedule/visits",
        "/schedule/order",
        "/report/primary",
    ];
    assert_eq!(places, expected);
}

/// The part of draft 07 that the schemas use, patterns aside. Returns the places that violate it.
fn violations(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let here = || vec![place.to_owned()];
    if schema.get("not").is_some() || schema.get("const").is_some_and(|only| only != value) {
        return here();
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let fits = alternatives.iter().any(|schema| violations(schema, value, place).is_empty());
        return if fits { found } else { here() };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().map(|name| name.as_str().unwrap()).collect(),
        Value::String(name) => vec![name],
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        return here();
    }
    let number = value.as_u64();
    if number.is_some_and(|number| schema["minimum"].as_u64().is_some_and(|min| number < min))
        || number.is_some_and(|number| schema["maximum"].as_u64().is_some_and(|max| number > max))
        || value
            .as_array()
            .is_some_and(|items| schema["minItems"].as_u64().is_some_and(|n| items.is_empty() && n > 0))
    {
        return here();
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            found.push(format!("{place} lacks {}", name.as_str().unwrap()));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let place = format!("{place}/{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => found.push(place),
            (Value::Null, other) => found.extend(violations(other, value, &place)),
            (property, _) => found.extend(violations(property, value, &place)),
        }
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(violations(&schema["items"], item, &format!("{place}/{at}")));
    }
    found
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("{other}"),
    }
}
