"""Who makes a model and who serves it, by the names the catalogues give them. Kept by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """Who makes the models whose ids begin as ``ids`` says. ``own``: the provider names of the vendor's own service, in
    the catalogues' spellings, the international one first."""

    name: str
    ids: re.Pattern[str]
    own: tuple[str, ...]


def _vendor(name: str, ids: str, *own: str) -> Vendor:
    return Vendor(name=name, ids=re.compile(rf"(?:{ids})"), own=own)


# The order is that of the table: first those whose models the agents' users pick most.
VENDORS = (
    _vendor("openai", r"gpt-|chatgpt-|o\d(?:-|$)|codex-", "openai", "text-completion-openai"),
    _vendor("anthropic", r"claude-", "anthropic"),
    _vendor("google", r"gemini-|gemma-", "gemini", "google"),
    _vendor("deepseek", r"deepseek-", "deepseek"),
    _vendor("alibaba", r"qwen|qwq|qvq", "dashscope", "alibaba", "qwencloud", "alibaba-cn"),
    _vendor("moonshotai", r"kimi-|moonshot-", "moonshot", "moonshotai", "moonshotai-cn", "kimi-for-coding"),
    _vendor("zai", r"glm-", "zai", "bigmodel", "zhipuai"),
    _vendor("minimax", r"minimax-", "minimax", "minimax-cn"),
    _vendor("xai", r"grok-", "xai", "x-ai"),
    _vendor(
        "mistral", r"(?:mi|mini|magi|dev|code|pix|lean)s?tral|mixtral|open-mi|labs-", "mistral",
        "text-completion-codestral", "codestral",
    ),
    _vendor("nvidia", r"(?:nvidia-|llama-[\d.]+-)?nemotron", "nvidia"),
    _vendor("meta", r"(?:code)?llama-|muse-", "meta", "meta_llama", "llama"),
    _vendor("amazon", r"nova-", "amazon_nova", "nova", "bedrock_converse", "bedrock", "amazon-bedrock", "aws"),
    _vendor("xiaomi", r"mimo-", "xiaomi_mimo", "xiaomi"),
    _vendor("cohere", r"command|c4ai-|north-", "cohere_chat", "cohere"),
    _vendor("microsoft", r"phi-|mai-"),
    _vendor("bytedance", r"doubao-|seed-|ui-tars-", "volcengine"),
    _vendor("tencent", r"hy\d|hunyuan-", "tencent", "tencent-tokenhub"),
    _vendor("stepfun", r"step-", "stepfun-ai", "stepfun"),
    _vendor("meituan", r"longcat-", "longcat"),
    _vendor("inclusionai", r"(?:ling|ring)-", "bailing"),
    _vendor("baidu", r"ernie-"),
    _vendor("ibm", r"granite-", "watsonx"),
    _vendor("ai21", r"jamba-", "ai21", "ai21_chat"),
    _vendor("perplexity", r"sonar", "perplexity"),
    _vendor("inception", r"mercury", "inception"),
    _vendor("upstage", r"solar-", "upstage"),
    _vendor("thinkingmachines", r"inkling", "thinkingmachines"),
    _vendor("poolside", r"laguna-", "poolside"),
    _vendor("arcee", r"trinity-", "arcee"),
    _vendor("sakana", r"fugu|sakana-", "sakana"),
    _vendor("sarvam", r"sarvam-", "sarvam"),
    _vendor("allenai", r"olmo-"),
    _vendor("nousresearch", r"hermes-"),
    _vendor("liquid", r"lfm"),
    _vendor("kwaipilot", r"kat-"),
    _vendor("writer", r"palmyra-"),
    _vendor("primeintellect", r"intellect-"),
    _vendor("essentialai", r"rnj-"),
    _vendor("deepcogito", r"cogito-"),
    _vendor("swiss-ai", r"apertus-"),
    _vendor("reka", r"reka-"),
    _vendor("morph", r"morph-v", "morph"),
)  # fmt: skip

# Providers whose name stands before a model's id in clients' and routers' configurations, each with the names that the
# catalogues and those configurations give it. Of these the table keeps limits of their own.
HOSTS: dict[str, tuple[str, ...]] = {
    "azure": ("azure", "azure_ai", "azure_text", "azure-cognitive-services"),
    "amazon-bedrock": ("amazon-bedrock", "bedrock", "bedrock_converse", "bedrock_mantle", "aws"),
    "google-vertex": (
        "google-vertex", "vertex", "vertex_ai", "google-vertex-anthropic", "vertex_ai-anthropic_models",
        "vertex_ai-language-models", "vertex_ai-mistral_models", "vertex_ai-llama_models", "vertex_ai-deepseek_models",
        "vertex_ai-qwen_models", "vertex_ai-zai_models", "vertex_ai-openai_models", "vertex_ai-minimax_models",
        "vertex_ai-moonshot_models", "vertex_ai-ai21_models",
    ),
    "github-copilot": ("github-copilot", "github_copilot"),
    "chatgpt": ("chatgpt",),
    "cursor": ("cursor",),
    "openrouter": ("openrouter",),
    "vercel": ("vercel", "vercel_ai_gateway"),
    "opencode": ("opencode",),
    "opencode-go": ("opencode-go", "opencode_go"),
    "groq": ("groq",),
    "cerebras": ("cerebras",),
    "togetherai": ("togetherai", "together_ai", "together"),
    "fireworks-ai": ("fireworks-ai", "fireworks_ai", "fireworks"),
    "deepinfra": ("deepinfra",),
    "novita-ai": ("novita-ai", "novita"),
    "nebius": ("nebius",),
    "nvidia": ("nvidia", "nvidia_nim"),
    "baseten": ("baseten",),
    "siliconflow": ("siliconflow", "siliconflow-cn"),
    "huggingface": ("huggingface",),
    "cloudflare-workers-ai": ("cloudflare-workers-ai", "cloudflare", "@cf", "workers-ai"),
    "databricks": ("databricks",),
    "snowflake-cortex": ("snowflake-cortex", "snowflake"),
    "sambanova": ("sambanova",),
    "scaleway": ("scaleway",),
    "ovhcloud": ("ovhcloud",),
    "watsonx": ("watsonx",),
    "oci": ("oci",),
    "ollama-cloud": ("ollama-cloud",),
    "wandb": ("wandb",),
    "chutes": ("chutes",),
    "alibaba": ("alibaba", "dashscope"),
    "mistral": ("mistral",),
    "perplexity": ("perplexity",),
    "poe": ("poe",),
    "venice": ("venice", "veniceai"),
    "zenmux": ("zenmux",),
    "requesty": ("requesty",),
    "kilo": ("kilo",),
    "helicone": ("helicone",),
}  # fmt: skip


def vendor_of(stem: str) -> Vendor | None:
    """The vendor of a model by how its id begins, once what providers add is taken off."""
    return next((vendor for vendor in VENDORS if vendor.ids.match(stem)), None)


def host_of(provider: str) -> str | None:
    """A provider of ``HOSTS`` by any of its names."""
    return next((host for host, names in HOSTS.items() if provider in names), None)


def squeezed(name: str) -> str:
    """A provider's name as ``context_windows`` looks it up: letters and digits."""
    return re.sub(r"[^a-z\d]", "", name)
