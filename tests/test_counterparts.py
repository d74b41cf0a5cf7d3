"""The pages for people who come from elsewhere name all that they know, and only what exists."""

import pkgutil
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("coming-from-*.md"))
NAMED = re.compile(r"`(toolplan(?:_[a-z]+)?(?:\.[A-Za-z_]\w*)+)`")
FILES = frozenset({"toolplan.toml"})

KIRHA = """
    Planner generatePlan Plan execute isValidPlan PlanValidationResult PlanValidationError Tool
    StepResult PlanStep PlanStepStatus executePlan resolveArguments resolveValue parseTemplateString
    parsePath normalizePath formatPath getNestedValue isNumericString traverseReferences
    extractDependencyStepIds isDependencyReference isStringTemplateReference
    isRawDependencyReference
    """
CLEAR = """
    PlannerAgent plan clearCache getCacheStats PlannerConfig ToolInfo Plan PlanStep PlanMetadata
    PlanSchema validatePlan analyzeDependencies extractTemporalReference extractEntities extractJSON
    buildSystemPrompt buildUserPrompt generatePlanWithLLM validateAndParsePlan
    validateToolsAvailable validateNoCycles getCachedPlan cachePlan hashQuery handleConfirmation
    initializeAvailableTools LLMProvider generate LLMRequest getLLMConfigs IntentClassifier classify
    UserIntent IntentResult parseTemporalReference getCurrentTimestamp getDaysAgo isDateInRange
    formatDate withRetry withTimeout ContextManager getMessages addMessage BaseTool success
    MCPServer registerTool registerAllTools ToolResult Executor execute Orchestrator handleQuery
    cancelQuery
    analyze summarize PlannerError PlanValidationError PlanDependencyError ToolNotFoundError
    LLMProviderError CircuitBreaker ConfidenceScorer IntentRecognizer recognizeIntent
    getSupportedIntents getSupportedEntities getSupportedOperations operations isQuery isQuestion
    isConfirmation isFollowUp extractTimeframe extractAction ConversationUtils isAffirmative
    isNegative extractBusinessEntities extractReferences simplifyForComparison EntityExtractor
    extractFromMessage extractFromMessages getEntitiesByType getMostFrequent toSummary
    resolveTemplateParams hasTemplates extractTemplates getStepDependencies StepReferenceResolver
    resolveReferences validateReferences PlanValidator storeEpisodic storeSemantic mean median
    variance standardDeviation range percentile correlation detectOutliersZScore detectOutliersIQR
    detectTrend groupByAndSummarize
    """
LANGGRAPH_MCP = """
    Configuration get_mcp_server_descriptions build_experts_context InputState State PlannerResult
    Task planner orchestrate call_tool assess_task_completion advance_to_next_task generate_response
    decide_planner_edge decide_orchestrate_edge decide_task_assessment_edge decide_next_task_edge
    apply GetTools RunTool GetPrompts RoutingDescription IDK_TAG
    """
PEERS = {"kirha": KIRHA, "clear-ai": CLEAR, "langgraph-mcp": LANGGRAPH_MCP}


def counterparts(page: Path) -> list[str]:
    return [each for each in NAMED.findall(page.read_text("utf-8")) if each not in FILES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_name_of_toolplan_exists(page: Path) -> None:
    """F000, F001, F002, F004: what is promised as a counterpart can be had."""
    named = counterparts(page)
    assert named
    missing = [each for each in named if not exists(each)]
    assert missing == []


def exists(name: str) -> bool:
    """Return whether `name` is a public module, or a public attribute of one."""
    if any(part.startswith("_") for part in name.split(".")):
        return False
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("name", ["toolplan.nothing", "toolplan.run.nothing", "toolplan._x"])
def test_a_name_that_does_not_exist_is_found_out(name: str) -> None:
    assert not exists(name)


@pytest.mark.parametrize("peer", PEERS)
def test_every_public_name_of_the_peer_has_its_line(peer: str) -> None:
    """F000, F002, F003, F004: each with its counterpart, or why there is none."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", page_of(peer), re.MULTILINE)
    known = {name: right for left, right in rows for name in re.findall(r"[A-Za-z_]\w*", left)}
    unknown = [name for name in PEERS[peer].split() if name not in known]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_line_of_the_lists_has_a_counterpart_or_says_why_not(page: Path) -> None:
    _, _, listed = page.read_text("utf-8").partition("\n## Every name of ")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", listed, re.MULTILINE)
    found = [(left, right) for left, right in rows if right not in ("here", "---")]
    assert found
    bare = [
        left for left, right in found if not (NAMED.search(right) or "no counterpart: " in right)
    ]
    assert bare == []


def page_of(peer: str) -> str:
    return (DOCS / f"coming-from-{peer}.md").read_text("utf-8")
