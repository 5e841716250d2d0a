// Package export_kitbag_toolkit_tools is a toolkit in Go that is written against the contract alone. The packages
// of the module wit_component are generated from wit/.
package export_kitbag_toolkit_tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.bytecodealliance.org/pkg/wit/types"

	"wit_component/kitbag_toolkit_log"
	"wit_component/kitbag_toolkit_tools"
	"wit_component/wasi_http_outgoing_handler"
	"wit_component/wasi_http_types"
	"wit_component/wasi_io_streams"
)

// Whose pages are counted: a server of this repository's tests.
const host = "localhost:18999"

type (
	result = kitbag_toolkit_tools.ToolResult
	failed = kitbag_toolkit_tools.CallError
)

// Describe returns the manifest.
func Describe() string {
	manifest, err := json.Marshal(map[string]any{
		"id":          "words",
		"name":        "Words",
		"description": "Counts the words of texts and pages.",
		"icon":        "🔤",
		"version":     "1.0.0",
		"egress":      []string{host},
		"visibility":  "shared",
		"tools": []any{
			tool("count", "Counts the words of a text.", "text", `{"type": "string"}`),
			tool("count_page", "Counts the words of a page.", "path", `{"type": "string", "pattern": "^/"}`),
		},
	})
	if err != nil {
		panic(err)
	}
	return string(manifest)
}

func tool(name, description, argument, schema string) any {
	return map[string]any{
		"name":        name,
		"description": description,
		"inputSchema": map[string]any{
			"type":       "object",
			"properties": map[string]any{argument: json.RawMessage(schema)},
			"required":   []string{argument},
		},
	}
}

// Call runs one of the tools.
func Call(invocation kitbag_toolkit_tools.Invocation) wit_types.Result[result, failed] {
	var arguments struct{ Text, Path string }
	if err := json.Unmarshal([]byte(invocation.Arguments), &arguments); err != nil {
		return wit_types.Err[result](kitbag_toolkit_tools.MakeCallErrorInvalidParams(err.Error()))
	}
	text := arguments.Text
	if invocation.Tool == "count_page" {
		status, page, err := get(arguments.Path)
		if err != nil {
			return wit_types.Err[result](kitbag_toolkit_tools.MakeCallErrorFailure(err.Error()))
		}
		if status != 200 {
			message := fmt.Sprintf("There is no page %s: status %d.", arguments.Path, status)
			return wit_types.Err[result](kitbag_toolkit_tools.MakeCallErrorToolError(kitbag_toolkit_tools.ToolError{Message: message}))
		}
		text = string(page)
	}
	kitbag_toolkit_log.Write([]string{`"counting"`, fmt.Sprint(len(text))})
	return wit_types.Ok[result, failed](result{Text: fmt.Sprintf("Words: %d", len(strings.Fields(text)))})
}

// get requests a page. `net/http` would open a socket, which no toolkit has.
func get(path string) (status uint16, body []byte, err error) {
	request := wasi_http_types.MakeOutgoingRequest(wasi_http_types.MakeFields())
	request.SetScheme(wit_types.Some(wasi_http_types.MakeSchemeHttp()))
	request.SetAuthority(wit_types.Some(host))
	request.SetPathWithQuery(wit_types.Some(path))
	sent := wasi_http_outgoing_handler.Handle(request, wit_types.None[*wasi_http_types.RequestOptions]())
	if sent.IsErr() {
		return 0, nil, fmt.Errorf("%s was not requested: error %d of wasi:http", path, sent.Err().Tag())
	}
	future := sent.Ok()
	future.Subscribe().Block()
	answer := future.Get().Some().Ok()
	if answer.IsErr() {
		return 0, nil, fmt.Errorf("no response to %s: error %d of wasi:http", path, answer.Err().Tag())
	}
	response := answer.Ok()
	stream := response.Consume().Ok().Stream().Ok()
	for {
		chunk := stream.BlockingRead(64 << 10)
		if chunk.IsOk() {
			body = append(body, chunk.Ok()...)
		} else if chunk.Err().Tag() == wasi_io_streams.StreamError_Closed {
			return response.Status(), body, nil
		} else {
			return 0, nil, fmt.Errorf("the response to %s ended early", path)
		}
	}
}
