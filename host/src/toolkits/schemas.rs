//! The compiled schemas of tools.

use std::sync::Arc;

use kitbag_manifest::ToolDefinition;
use kitbag_manifest::schema::{Schema, SchemaError};

/// Those of some tools, in their order.
pub struct Schemas(Vec<OfTool>);

struct OfTool {
    input: Arc<Schema>,
    output: Option<Arc<Schema>>,
}

impl Schemas {
    /// Compiles the schemas of these tools. Takes a while.
    pub fn compile(tools: &[ToolDefinition]) -> Result<Self, SchemaError> {
        tools.iter().map(OfTool::compile).collect::<Result<_, _>>().map(Self)
    }

    /// The schema of a tool's arguments.
    pub fn input(&self, tool: usize) -> &Arc<Schema> {
        &self.0[tool].input
    }

    /// The schema of a tool's structured result, if it declares one.
    pub fn output(&self, tool: usize) -> Option<&Arc<Schema>> {
        self.0[tool].output.as_ref()
    }
}

impl OfTool {
    fn compile(tool: &ToolDefinition) -> Result<Self, SchemaError> {
        let compile = |schema| Schema::compile(schema).map(Arc::new);
        let output = tool.output_schema.as_ref().map(compile).transpose()?;
        Ok(Self { input: compile(&tool.input_schema)?, output })
    }
}
