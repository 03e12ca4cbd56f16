//! A builder that only says what it would have built.

use super::board::World;
use async_trait::async_trait;
use kab_engine::{BuildFailure, BuildFault, Builder};
use kab_model::{Arch, Artifact, KernelDifference, PlannedVariant, SymbolChange};
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
            return Err(BuildFailure { fault: BuildFault::Host, message: "interrupted".to_owned() });
        }
        if self.0.unbuildable(&variant.name) {
            let message = "a.c:1: error: no".to_owned();
            return Err(BuildFailure { fault: BuildFault::Variant, message });
        }
        if self.0.out_of_order() {
            let message = "there is no gcc".to_owned();
            return Err(BuildFailure { fault: BuildFault::Host, message });
        }
        let cache = self.0.cache();
        std::fs::create_dir_all(&cache).unwrap();
        let (image, config) = (cache.join(&variant.name.0), cache.join("config"));
        std::fs::write(&image, "an image").unwrap();
        std::fs::write(&config, "CONFIG_A=y\n").unwrap();
        Ok(Artifact {
            key: format!("key-{}", variant.name),
            arch,
            image,
            image_digest: format!("d-{}", variant.name),
            build_id: Some(format!("id-{}{}", variant.name, self.0.drift())),
            dtbs: None,
            dtbs_digest: None,
            modules: None,
            modules_digest: None,
            tree: "2".repeat(40),
            config_digest: "c".into(),
            config,
            compiler: "gcc".into(),
            release: "6.15.0".into(),
            log: "/log".into(),
            cached: false,
            build_ms: 1,
        })
    }

    /// The names of the two, as a symbol.
    fn difference(&self, baseline: &Artifact, variant: &Artifact) -> KernelDifference {
        let name = |artifact: &Artifact| Some(artifact.key.clone());
        let change = SymbolChange { symbol: "CONFIG_KEY".into(), from: name(baseline), to: name(variant) };
        KernelDifference { symbols: vec![change], nodes: Vec::new() }
    }
}
