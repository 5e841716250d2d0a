//! The compiled schemas of tools and prompts.

use std::sync::Arc;

use kitbag_manifest::schema::{Schema, SchemaError};
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};

/// Compiled schemas of tools and prompts, in their order.
pub struct Schemas {
    tools: Vec<OfTool>,
    prompts: Vec<Arc<Schema>>,
}

struct OfTool {
    input: Arc<Schema>,
    output: Option<Arc<Schema>>,
}

impl Schemas {
    /// Compiles the schemas of these tools. CPU-intensive.
    pub fn compile(tools: &[ToolDefinition]) -> Result<Self, SchemaError> {
        let tools = tools.iter().map(OfTool::compile).collect::<Result<_, _>>()?;
        Ok(Self { tools, prompts: Vec::new() })
    }

    /// Compiles the schemas of a toolkit's tools and prompts. CPU-intensive.
    pub fn of(toolkit: &ToolkitDefinition) -> Result<Self, SchemaError> {
        let prompts = toolkit.prompts.iter().map(|it| Schema::compile(&it.input_schema()).map(Arc::new));
        Ok(Self { prompts: prompts.collect::<Result<_, _>>()?, ..Self::compile(&toolkit.tools)? })
    }

    /// Returns the schema of a prompt's arguments, by its index.
    pub fn prompt(&self, prompt: usize) -> &Arc<Schema> {
        &self.prompts[prompt]
    }

    /// Returns the schema of a tool's arguments, by its index.
    pub fn input(&self, tool: usize) -> &Arc<Schema> {
        &self.tools[tool].input
    }

    /// Returns the schema of a tool's structured result, if it declares one.
    pub fn output(&self, tool: usize) -> Option<&Arc<Schema>> {
        self.tools[tool].output.as_ref()
    }
}

impl OfTool {
    fn compile(tool: &ToolDefinition) -> Result<Self, SchemaError> {
        let compile = |schema| Schema::compile(schema).map(Arc::new);
        let output = tool.output_schema.as_ref().map(compile).transpose()?;
        Ok(Self { input: compile(&tool.input_schema)?, output })
    }
}
