// The names of the page for what the API returns; `schema.ts` is generated from openapi.json.
import type { components } from './schema';

type Schemas = components['schemas'];
export type About = Schemas['About'];
export type Call = Schemas['CallOut'];
export type CheckedPlan = Schemas['CheckedPlan'];
export type Clarification = Schemas['ClarificationOut'];
export type Decided = Schemas['Decided'];
export type Diagnostic = Schemas['DiagnosticOut'];
export type Difference = Schemas['Difference'];
export type Doubt = Schemas['DoubtOut'];
export type Effect = Schemas['EffectOut'];
export type Failure = Schemas['FailureOut'];
export type Flow = Schemas['FlowOut'];
export type Forecast = Schemas['ForecastOut'];
export type GraphData = Schemas['Graph'];
export type NodeData = Schemas['NodeOut'];
export type Origin = Schemas['OriginOut'];
export type Proposed = Schemas['Proposed'];
export type RunDiff = Schemas['RunDiff'];
export type RunGiven = Schemas['RunGiven'];
export type RunEvent = Schemas['EventOut'];
export type RunLine = Schemas['RunLine'];
export type RunList = Schemas['RunList'];
export type RunOut = Schemas['RunOut'];
export type StepDetail = Schemas['StepDetail'];
export type StepOut = Schemas['StepOut'];
export type ToolList = Schemas['ToolList'];
export type ToolOut = Schemas['ToolOut'];
export type Tried = Schemas['Tried'];
export type UnderstoodOut = Schemas['Understood'];
export type DecisionGiven =
  | Schemas['Approve']
  | Schemas['Allow']
  | Schemas['Refuse']
  | Schemas['Decide']
  | Schemas['Cancel']
  | Schemas['Resume']
  | Schemas['Replan'];
