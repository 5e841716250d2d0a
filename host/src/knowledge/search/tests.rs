mod evaluation;
mod library;

use super::*;
