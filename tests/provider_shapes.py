"""What each provider's list of models looks like, with the windows that are in it: context, input, output."""

from __future__ import annotations

from typing import Any

Limits = tuple[int | None, int | None, int | None]

# By provider: the answer by "METHOD path?query" (a POST's with its model behind), and the windows read from it.
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Limits]]] = {
    "anthropic": (
        {
            "GET /v1/models?limit=1000": {
                "data": [
                    {"type": "model", "id": "claude-opus-5-5", "display_name": "Claude Opus 5.5",
                     "created_at": "2026-10-01T00:00:00Z", "max_input_tokens": 1000000, "max_tokens": 128000},
                    {"type": "model", "id": "claude-old", "max_input_tokens": None, "max_tokens": 4096},
                ],
                "first_id": "claude-opus-5-5", "last_id": "claude-old", "has_more": True,
            },
            "GET /v1/models?limit=1000&after_id=claude-old": {
                "data": [{"type": "model", "id": "claude-haiku-4-5-20251001", "max_input_tokens": 200000,
                          "max_tokens": None}],
                "first_id": "claude-haiku-4-5-20251001", "last_id": "claude-haiku-4-5-20251001", "has_more": False,
            },
        },
        {"claude-opus-5-5": (1000000, None, 128000), "claude-haiku-4-5-20251001": (200000, None, None)},
    ),
    "gemini": (
        {
            "GET /v1beta/models?pageSize=1000": {
                "models": [{"name": "models/gemini-2.5-pro", "version": "2.5", "inputTokenLimit": 1048576,
                            "outputTokenLimit": 65536, "supportedGenerationMethods": ["generateContent"]}],
                "nextPageToken": "a/b=",
            },
            "GET /v1beta/models?pageSize=1000&pageToken=a%2Fb%3D": {
                "models": [{"name": "models/aqa", "inputTokenLimit": 7168, "outputTokenLimit": 1024}]
            },
        },
        {"models/gemini-2.5-pro": (1048576, None, 65536), "models/aqa": (7168, None, 1024)},
    ),
    "openrouter": (
        {
            "GET /api/v1/models": {
                "data": [
                    {"id": "openai/gpt-oss-120b", "canonical_slug": "openai/gpt-oss-120b", "context_length": 131072,
                     "top_provider": {"context_length": 65536, "max_completion_tokens": 32768, "is_moderated": False},
                     "per_request_limits": None},
                    {"id": "anthropic/claude-opus-4.7", "context_length": 1000000, "per_request_limits": None,
                     "top_provider": {"context_length": None, "max_completion_tokens": None}},
                ]
            }
        },
        {"openai/gpt-oss-120b": (65536, None, 32768), "anthropic/claude-opus-4.7": (1000000, None, None)},
    ),
    "mistral": (
        {
            "GET /v1/models": {
                "object": "list",
                "data": [{"id": "devstral-2512", "object": "model", "owned_by": "mistralai",
                          "aliases": ["devstral-latest"], "max_context_length": 262144},
                         {"id": "mistral-moderation", "object": "model"}],
            }
        },
        {"devstral-2512": (262144, None, None)},
    ),
    "groq": (
        {
            "GET /openai/v1/models": {
                "object": "list",
                "data": [{"id": "llama-3.3-70b-versatile", "active": True, "context_window": 131072,
                          "max_completion_tokens": 32768}],
            }
        },
        {"llama-3.3-70b-versatile": (131072, None, 32768)},
    ),
    "together": (
        {
            "GET /v1/models": [
                {"id": "Qwen/Qwen3-Coder", "object": "model", "type": "chat", "context_length": 262144},
                {"id": "black-forest-labs/FLUX", "object": "model", "type": "image", "context_length": 0},
            ]
        },
        {"Qwen/Qwen3-Coder": (262144, None, None)},
    ),
    "fireworks": (
        {
            "GET /v1/accounts/fireworks/models?pageSize=200": {
                "models": [{"name": "accounts/fireworks/models/glm-4p6", "kind": "HF_BASE_MODEL",
                            "contextLength": 202752, "trainingContextLength": 131072}],
                "nextPageToken": "2", "totalSize": 2,
            },
            "GET /v1/accounts/fireworks/models?pageSize=200&pageToken=2": {
                "models": [{"name": "accounts/fireworks/models/kimi-k2p5", "contextLength": 262144}],
                "nextPageToken": "",
            },
        },
        {
            "accounts/fireworks/models/glm-4p6": (202752, None, None),
            "accounts/fireworks/models/kimi-k2p5": (262144, None, None),
        },
    ),
    "cerebras": (
        {
            "GET /public/v1/models": {
                "data": [{"id": "gpt-oss-120b",
                          "limits": {"max_context_length": 131072, "max_completion_tokens": 40960}},
                         {"id": "zai-glm-4.6", "context_length": 131000, "max_output_length": 40000}]
            }
        },
        {"gpt-oss-120b": (131072, None, 40960), "zai-glm-4.6": (131000, None, 40000)},
    ),
    "cohere": (
        {
            "GET /v1/models?page_size=1000": {
                "models": [{"name": "command-a-03-2025", "endpoints": ["chat"], "context_length": 288000,
                            "tokenizer_url": "https://example.invalid/tokenizer.json"}],
                "next_page_token": "next",
            },
            "GET /v1/models?page_size=1000&page_token=next": {
                "models": [{"name": "command-r", "context_length": 128000.0}], "next_page_token": None,
            },
        },
        {"command-a-03-2025": (288000, None, None)},
    ),
    "moonshot": (
        {
            "GET /v1/models": {
                "data": [{"id": "kimi-k2.6", "context_length": 262144, "supports_image_in": True,
                          "supports_reasoning": True}]
            }
        },
        {"kimi-k2.6": (262144, None, None)},
    ),
    "xai": (
        {
            "GET /v1/models": {
                "data": [{"id": "grok-4.5", "context_length": 500000, "long_context_threshold": 200000}],
            }
        },
        {"grok-4.5": (500000, None, None)},
    ),
    "deepinfra": (
        {
            "GET /v1/openai/models": {
                "data": [{"id": "zai-org/GLM-4.6", "metadata": {"context_length": 202752, "max_tokens": 131072}},
                         {"id": "BAAI/bge-m3", "metadata": None}]
            }
        },
        {"zai-org/GLM-4.6": (202752, None, 131072)},
    ),
    "copilot": (
        {
            "GET /models": {
                "data": [{"id": "gpt-5", "capabilities": {"family": "gpt-5", "limits": {
                    "max_context_window_tokens": 264000, "max_prompt_tokens": 128000, "max_output_tokens": 64000}}},
                    {"id": "text-embedding-3-small", "capabilities": {"limits": {"max_inputs": 512}}}]
            }
        },
        {"gpt-5": (264000, 128000, 64000)},
    ),
    "litellm": (
        {
            "GET /model/info": {
                "data": [
                    {"model_name": "coder", "litellm_params": {"model": "azure/gpt-4o"},
                     "model_info": {"max_input_tokens": 128000, "max_output_tokens": 16384}},
                    {"model_name": "coder", "litellm_params": {"model": "openai/gpt-5"},
                     "model_info": {"max_tokens": 128000, "max_input_tokens": 272000, "max_output_tokens": 128000}},
                    {"model_name": "plain", "model_info": {"max_tokens": 4096, "max_input_tokens": None}},
                ]
            }
        },
        {"coder": (128000, 128000, 16384)},
    ),
    "vllm": (
        {
            "GET /v1/models": {
                "object": "list",
                "data": [{"id": "Qwen/Qwen3-32B", "owned_by": "vllm", "root": "Qwen/Qwen3-32B", "parent": None,
                          "max_model_len": 40960}],
            }
        },
        {"Qwen/Qwen3-32B": (40960, None, None)},
    ),
    "llamacpp": (
        {
            "GET /v1/models": {
                "object": "list",
                "data": [{"id": "qwen3-8b-q4.gguf", "owned_by": "llamacpp",
                          "meta": {"vocab_type": 2, "n_ctx": 8192, "n_ctx_train": 40960, "n_embd": 4096}},
                         {"id": "bare.gguf", "meta": {"n_ctx_train": 32768}}, {"id": "loading.gguf", "meta": None}],
            }
        },
        {"qwen3-8b-q4.gguf": (8192, None, None), "bare.gguf": (32768, None, None)},
    ),
    "lmstudio": (
        {
            "GET /api/v0/models": {
                "data": [{"id": "qwen3-8b", "state": "loaded", "max_context_length": 40960,
                          "loaded_context_length": 4096},
                         {"id": "gemma-3", "state": "not-loaded", "max_context_length": 131072}]
            }
        },
        {"qwen3-8b": (4096, None, None), "gemma-3": (131072, None, None)},
    ),
    "ollama": (
        {
            "GET /api/tags": {
                "models": [{"name": name, "model": name, "size": 5} for name in ("qwen3:8b", "coder:7b", "old:1b")]
            },
            "GET /api/ps": {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "context_length": 4096}]},
            "POST /api/show qwen3:8b": {
                "details": {"family": "qwen3"},
                "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960,
                               "qwen3.rope.context_length": 1},
            },
            "POST /api/show coder:7b": {
                "parameters": "stop                           \"<|end|>\"\nnum_ctx                        16384",
                "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768},
            },
            "POST /api/show old:1b": {"parameters": "temperature 1", "model_info": {"old.context_length": "2048"}},
        },
        {"qwen3:8b": (4096, None, None), "coder:7b": (16384, None, None)},
    ),
}  # fmt: skip
