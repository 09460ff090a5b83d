// tests/clients/go - does with OpenAI's Go client what its standard input says, as tests/clients/python/driver.py does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

type job struct {
	Feature, URL, Key, Model, Say string
	Texts                         []string
	Seconds                       float64
}

var look = openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name:        "look",
	Description: openai.String("Looks at something."),
	Parameters: shared.FunctionParameters{
		"type": "object", "properties": map[string]any{"at": map[string]any{"type": "string"}}, "required": []string{"at"}},
})

func connect(URL, KEY string) openai.Client {
	// settings
	client := openai.NewClient(option.WithBaseURL(URL+"/v1"), option.WithAPIKey(KEY))
	// end
	client.Options = append(client.Options, option.WithMaxRetries(0))
	return openai.NewClient(client.Options...)
}

func params(at job) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: at.Model, Temperature: openai.Float(0),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(at.Say)},
	}
}

func create(ctx context.Context, at job, p openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	client := connect(at.URL, at.Key)
	return client.Chat.Completions.New(ctx, p)
}

func callOf(c openai.ChatCompletionMessageToolCallUnion) ([]any, error) {
	var arguments any
	err := json.Unmarshal([]byte(c.Function.Arguments), &arguments)
	return []any{c.Function.Name, arguments}, err
}

func counts(u openai.CompletionUsage) []int64 { return []int64{u.PromptTokens, u.CompletionTokens} }

// streamed gives the pieces of the text and all chunks as one answer.
func streamed(at job, p openai.ChatCompletionNewParams) ([]string, openai.ChatCompletionAccumulator, error) {
	client := connect(at.URL, at.Key)
	s := client.Chat.Completions.NewStreaming(context.Background(), p)
	defer s.Close()
	pieces, whole := []string{}, openai.ChatCompletionAccumulator{}
	for s.Next() {
		chunk := s.Current()
		if !whole.AddChunk(chunk) {
			return nil, whole, errors.New("a chunk that does not fit those before")
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces = append(pieces, chunk.Choices[0].Delta.Content)
		}
	}
	return pieces, whole, s.Err()
}

var features = map[string]func(context.Context, job) (any, error){
	"chat": func(ctx context.Context, at job) (any, error) {
		c, err := create(ctx, at, params(at))
		if err != nil {
			return nil, err
		}
		return c.Choices[0].Message.Content, nil
	},
	"stream": func(ctx context.Context, at job) (any, error) {
		pieces, _, err := streamed(at, params(at))
		return pieces, err
	},
	"tools": func(ctx context.Context, at job) (any, error) {
		p := params(at)
		p.Tools = []openai.ChatCompletionToolUnionParam{look}
		c, err := create(ctx, at, p)
		if err != nil {
			return nil, err
		}
		m := c.Choices[0].Message
		if len(m.ToolCalls) != 1 {
			return nil, fmt.Errorf("%d calls", len(m.ToolCalls))
		}
		call, err := callOf(m.ToolCalls[0])
		if err != nil {
			return nil, err
		}
		p.Messages = append(p.Messages, m.ToParam(), openai.ToolMessage("blue", m.ToolCalls[0].ID))
		final, err := create(ctx, at, p)
		if err != nil {
			return nil, err
		}
		return map[string]any{"call": call, "text": final.Choices[0].Message.Content}, nil
	},
	"tools_stream": func(ctx context.Context, at job) (any, error) {
		p := params(at)
		p.Tools = []openai.ChatCompletionToolUnionParam{look}
		_, whole, err := streamed(at, p)
		if err != nil {
			return nil, err
		}
		return callOf(whole.Choices[0].Message.ToolCalls[0])
	},
	"usage": func(ctx context.Context, at job) (any, error) {
		c, err := create(ctx, at, params(at))
		if err != nil {
			return nil, err
		}
		return counts(c.Usage), nil
	},
	"usage_stream": func(ctx context.Context, at job) (any, error) {
		p := params(at)
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		_, whole, err := streamed(at, p)
		return counts(whole.Usage), err
	},
	"schema": func(ctx context.Context, at job) (any, error) {
		p := params(at)
		p.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "x", Schema: map[string]any{
				"type": "object", "required": []string{"at", "is_blue"}, "additionalProperties": false,
				"properties": map[string]any{"at": map[string]any{"enum": []string{"the sky", "the sea"}},
					"is_blue": map[string]any{"type": "boolean"}}}}}}
		c, err := create(ctx, at, p)
		if err != nil {
			return nil, err
		}
		var answer map[string]any
		return answer, json.Unmarshal([]byte(c.Choices[0].Message.Content), &answer)
	},
	"embeddings": func(ctx context.Context, at job) (any, error) {
		client := connect(at.URL, at.Key)
		e, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
			Model: at.Model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: at.Texts}})
		if err != nil {
			return nil, err
		}
		vectors := [][]float64{}
		for _, d := range e.Data {
			vectors = append(vectors, d.Embedding)
		}
		return vectors, nil
	},
	"cancel": func(ctx context.Context, at job) (any, error) {
		client := connect(at.URL, at.Key)
		s := client.Chat.Completions.NewStreaming(ctx, params(at))
		if !s.Next() {
			return nil, s.Err()
		}
		return nil, s.Close()
	},
	"timeout": func(ctx context.Context, at job) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(at.Seconds*float64(time.Second)))
		defer cancel()
		return create(ctx, at, params(at))
	},
}

// kinds names an error as the table of tests/clients/go_test.py does: by its HTTP status, or as what ended the context.
func kinds(err error) []string {
	var answer *openai.Error
	if errors.As(err, &answer) {
		return []string{fmt.Sprintf("openai.Error %d", answer.StatusCode)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return []string{"context.DeadlineExceeded"}
	}
	return []string{fmt.Sprintf("%T", err)}
}

func message(err error) string {
	var answer *openai.Error
	if errors.As(err, &answer) {
		return answer.Message
	}
	return err.Error()
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var at job
		if err := json.NewDecoder(strings.NewReader(lines.Text())).Decode(&at); err != nil {
			panic(err)
		}
		value, err := features[at.Feature](context.Background(), at)
		answer := map[string]any{"got": value}
		if err != nil {
			answer = map[string]any{"raised": kinds(err), "message": message(err)}
		}
		line, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
}
