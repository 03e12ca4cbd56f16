//! JSON Schema of what templates and programs read, made from the types themselves and their documentation.

use crate::machine::Data;
use crate::view::View;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// What a template may name: the members of [`View`], and `data` with the machine-readable report.
pub fn schema_view() -> Value {
    let mut schema = of::<View>();
    let mut data = of::<Data>();
    let definitions = data.as_object_mut().and_then(|data| data.remove("definitions"));
    if let Some(members) = definitions.as_ref().and_then(Value::as_object)
        && let Some(target) = schema["definitions"].as_object_mut()
    {
        target.extend(members.clone());
    }
    if let Some(object) = data.as_object_mut() {
        object.remove("$schema");
    }
    schema["properties"]["data"] = data;
    schema["title"] = json!("What a template of `kab report --template` may name");
    schema
}

/// The members of `kab report --format json`.
pub fn schema_data() -> Value {
    let mut schema = of::<Data>();
    schema["title"] = json!("kab report --format json");
    schema
}

fn of<T: schemars::JsonSchema>() -> Value {
    let generator = SchemaSettings::draft07().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `$ref` leads somewhere, and every member is described.
    fn check(root: &Value, value: &Value, path: &str) {
        match value {
            Value::Object(object) => {
                if let Some(Value::String(target)) = object.get("$ref") {
                    assert!(root.pointer(&target[1..]).is_some(), "{path}: {target}");
                }
                if let Some(Value::Object(properties)) = object.get("properties") {
                    for (name, property) in properties {
                        assert!(property["description"].is_string(), "{path}/{name} is not described");
                    }
                }
                object.iter().for_each(|(name, value)| check(root, value, &format!("{path}/{name}")));
            }
            Value::Array(values) => values.iter().for_each(|value| check(root, value, path)),
            _ => {}
        }
    }

    #[test]
    fn schemas_are_whole_and_described() {
        for schema in [schema_view(), schema_data()] {
            check(&schema, &schema, "");
        }
    }
}
