//! JSON Schemas (draft 07) from the key tables, for editors.

use super::experiment::EXPERIMENT;
use super::keys::{Choice, Key, MapSpec, Presence, Shape};
use super::lab::LAB;
use super::scalar::TextRule;
use super::table::TABLE;
use serde_json::{Map, Value, json};

/// The schema of experiment.yaml.
pub fn schema_experiment() -> Value {
    document(&EXPERIMENT, "kab experiment")
}

/// The schema of lab.yaml.
pub fn schema_lab() -> Value {
    document(&LAB, "kab lab")
}

/// The schema of a table for `kab runs import --table`.
pub fn schema_table() -> Value {
    document(&TABLE, "kab table of posted figures")
}

fn document(spec: &MapSpec, title: &str) -> Value {
    let mut document = Map::new();
    document.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    document.insert("title".into(), json!(title));
    document.extend(map(spec));
    Value::Object(document)
}

fn map(spec: &MapSpec) -> Map<String, Value> {
    let properties: Map<String, Value> =
        spec.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = spec
        .keys
        .iter()
        .filter(|key| matches!(key.presence, Presence::Required))
        .map(|key| key.name)
        .collect();
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        object.insert("required".into(), json!(required));
    }
    object.insert("additionalProperties".into(), json!(false));
    object
}

fn property(key: &Key) -> Value {
    let mut object = Map::new();
    let doc = if key.is_later() {
        format!("{} Not supported in this version yet.", key.doc)
    } else {
        key.doc.into()
    };
    object.insert("description".into(), json!(doc));
    if let Presence::Default(text) = key.presence {
        object.insert("default".into(), default(&key.shape, text));
    }
    object.extend(shape(&key.shape));
    Value::Object(object)
}

fn default(shape: &Shape, text: &str) -> Value {
    match shape {
        Shape::Count(..) | Shape::Flag => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        _ => json!(text),
    }
}

fn shape(shape: &Shape) -> Map<String, Value> {
    let value = match shape {
        Shape::Text(rule) => text(*rule),
        Shape::Count(min, u64::MAX) => json!({"type": "integer", "minimum": min}),
        Shape::Count(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Duration(..) => json!({"type": "string", "pattern": "^([0-9]+ *(ms|s|m|min|h|d) *)+$"}),
        Shape::Size(..) => json!({"type": "string", "pattern": "^[0-9]+ *(B|KiB|MiB|GiB|TiB|[kKmMgGtT])$"}),
        Shape::Percent(_) => json!({"type": "string", "pattern": "^[0-9.]+ *%$"}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Choice(choices) => json!({"anyOf": alternatives(choices)}),
        Shape::List(item) => json!({"type": "array", "items": shape_value(item), "minItems": 1}),
        Shape::OneOrMore(item) => {
            let item = shape_value(item);
            json!({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})
        }
        Shape::Map(spec) => return map(spec),
        Shape::Table(rule, item) => json!({
            "type": "object",
            "propertyNames": {"pattern": rule.pattern()},
            "additionalProperties": shape_value(item),
            "minProperties": 1,
        }),
        Shape::Later => json!({"not": {}}),
    };
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn shape_value(of: &Shape) -> Value {
    Value::Object(shape(of))
}

/// Names may look like numbers or booleans to an editor: a hash `1234567e89`, a switch `1`.
fn text(rule: TextRule) -> Value {
    json!({"type": ["string", "number", "boolean"], "pattern": rule.pattern()})
}

fn alternatives(choices: &[Choice]) -> Vec<Value> {
    let usable = choices.iter().filter(|choice| !choice.is_later());
    usable
        .map(|choice| match choice.body {
            None => json!({"const": choice.name, "description": choice.doc}),
            Some(body) => json!({
                "type": "object",
                "description": choice.doc,
                "properties": {choice.name: shape_value(body)},
                "required": [choice.name],
                "additionalProperties": false,
            }),
        })
        .collect()
}
