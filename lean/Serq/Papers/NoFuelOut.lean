import Serq.Thm.Fuel
import Serq.Claims.BariRad
import Serq.Claims.DaiFastertransformer
import Serq.Claims.DaiSarathi
/-!
# The papers' programs do not run out of fuel

Claims leave out machines whose fuel ran out. For these families there are none, so the claims speak of
every machine of every path. (`kong_svf.sq`: `Serq.Papers.KongFuel`.)
-/

namespace Serq.Papers.NoFuelOut

open Serq.TwoRuns

/-- Constant gaps between the arrivals of at most 500 sessions without turn data. -/
theorem renewal {w : Workload} {g : Nat}
    (h : w.init.length ≤ 500 ∧ w.turns = [] ∧ w.gaps = some (List.replicate w.init.length g)) :
    w.init.length ≤ 33000 ∧ w.turns = [] ∧ ∃ gs, w.gaps = some gs :=
  ⟨by omega, h.2.1, _, h.2.2⟩

/-- Any gaps between the arrivals of at most 500 sessions without turn data. -/
theorem poisson {w : Workload}
    (h : w.init.length ≤ 500 ∧ w.turns = [] ∧ ∃ gs, w.gaps = some gs ∧ gs.length = w.init.length) :
    w.init.length ≤ 33000 ∧ w.turns = [] ∧ ∃ gs, w.gaps = some gs :=
  let ⟨gs, hg, _⟩ := h.2.2
  ⟨by omega, h.2.1, gs, hg⟩

namespace BariRad

open Serq.Claims.BariRad

/-- The program as one of two runs. -/
def params : Params := ⟨9, .CtxVar .Now, .Attr 10, .Attr 11, 0, .Binary .Sub (.CtxVar .Now) (.Attr 9)⟩

/-- RAD's node does not run out of fuel, whatever comes. -/
theorem token_rate : NoFuelOut deployment prog family_token_rate :=
  noFuelOut_of_arrivals (p := params) rfl rfl rfl fun _ h => poisson h

/-- Nor when prompts are whole tiles. -/
theorem optimal_tiling : NoFuelOut deployment prog family_optimal_tiling :=
  noFuelOut_of_arrivals (p := params) rfl rfl rfl fun _ h => poisson ⟨h.1, h.2.1, h.2.2.1⟩

end BariRad

/-- The program of both systems of Dai et al. as one of two runs. -/
def dai : Params :=
  ⟨9, .CtxVar .Now, .Num 290, .Num 990, 0, .Binary .Sub (.CtxVar .Now) (.Attr 9)⟩

namespace DaiFastertransformer

open Serq.Claims.DaiFastertransformer

/-- FasterTransformer's batching does not run out of fuel. -/
theorem token_rate : NoFuelOut deployment prog family_token_rate :=
  noFuelOut_of_arrivals (p := dai) rfl rfl rfl fun _ h => renewal h

end DaiFastertransformer

namespace DaiSarathi

open Serq.Claims.DaiSarathi

/-- Sarathi-Serve does not run out of fuel. -/
theorem token_rate : NoFuelOut deployment prog family_token_rate :=
  noFuelOut_of_arrivals (p := dai) rfl rfl rfl fun _ h => renewal h

/-- Nor in the family of `work_conserving`. -/
theorem work_conserving : NoFuelOut deployment prog family_work_conserving :=
  noFuelOut_of_arrivals (p := dai) rfl rfl rfl fun _ h => renewal h

/-- Nor in the family of `bounded`. -/
theorem bounded : NoFuelOut deployment prog family_bounded :=
  noFuelOut_of_arrivals (p := dai) rfl rfl rfl fun _ h => renewal h

end DaiSarathi

end Serq.Papers.NoFuelOut
