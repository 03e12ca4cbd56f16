//! A builder that only says what it would have built.

use super::board::World;
use async_trait::async_trait;
use kab_engine::{BuildFailure, Builder};
use kab_model::{Arch, Artifact, PlannedVariant};
use std::sync::Arc;

/// Builds whatever the world lets be built.
pub struct ScriptedBuilder(pub Arc<World>);

#[async_trait]
impl Builder for ScriptedBuilder {
    async fn build(
        &self,
        variant: &PlannedVariant,
        arch: Arch,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Artifact, BuildFailure> {
        self.0.measuring_is_exclusive();
        progress(format!("building {}", variant.name));
        if let Some(user) = self.0.impatient() {
            user.cancel();
            return Err(BuildFailure { message: "interrupted".to_owned() });
        }
        if self.0.unbuildable(&variant.name) {
            return Err(BuildFailure { message: "a.c:1: error: no".to_owned() });
        }
        Ok(Artifact {
            key: format!("key-{}", variant.name),
            arch,
            image: format!("/images/{}", variant.name).into(),
            image_digest: "d".into(),
            build_id: format!("id-{}", variant.name),
            tree: variant.tree.clone(),
            config_digest: "c".into(),
            config: "/config".into(),
            compiler: "gcc".into(),
            release: "6.15.0".into(),
            log: "/log".into(),
            cached: false,
            build_ms: 1,
        })
    }
}
