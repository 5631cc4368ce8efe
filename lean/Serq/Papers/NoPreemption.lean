import Serq.Claims.NoPreemption
import Serq.Thm.NoPreemption
/-!
# `no_preemption.sq`: as many sequences as the memory holds at their longest

The program is one of those whose slots' peaks fit into the memory (`Peak`): 15 requests of at most
1 536 + 512 tokens, 128 blocks each, in 2 000 blocks. So no request is preempted, in any iteration of any
path.
-/

namespace Serq.Papers.NoPreemption

open Serq.Claims.NoPreemption

/-- Slots are pool 0, the KV cache is pool 1; a request is preempted nowhere (slot 8), its prompt (10) has
at most 1 536 tokens and its output (11) at most 512, and it knows no more than its prompt (12, 13). -/
def params : Peak.Params :=
  { slots := 0
    memory := 1
    bound := fun s =>
      if s = 8 then some 0 else if s = 11 then some 512
      else if s = 10 then some 1536 else if s = 12 then some 1536 else if s = 13 then some 1536 else none
    peak := 2048 }

/-- The peaks of all slots fit. -/
theorem setting : Peak.Setting deployment params where
  ne := by decide
  slots := by decide
  memory := by decide
  serve := rfl
  fifo := by
    intro s c
    cases s <;> simp [Deployment.stage, deployment, Lst.nth]
  block := rfl
  order := rfl
  turn := rfl
  room := by decide

/-- The program is as it must be. -/
theorem ok : Peak.Ok deployment params false prog := by
  refine ⟨fun x hx => absurd hx (by simp [params]), ?_, rfl, ⟨_, _, 1536, rfl, rfl, by decide⟩,
    by decide, ?_, trivial⟩
  · intro x hx
    exact ⟨1536, rfl, by simp [params] at hx; omega⟩
  · refine ⟨fun x hx => ⟨1536, rfl, by simp [params] at hx; omega⟩,
      fun x hx => ⟨1536, rfl, by simp [params] at hx; omega⟩, ⟨Or.inl ⟨rfl, 1536, rfl⟩, ?_⟩⟩
    exact ⟨Or.inl ⟨rfl, 512, rfl⟩, trivial⟩

/-- Presets do not depend on what another slot had before. -/
theorem assign_at (l : List (Nat × Nat)) (a b : Array Nat) (s : Nat) (h : Arr.at! a s = Arr.at! b s) :
    Arr.at! (assign l a) s = Arr.at! (assign l b) s := by
  induction l generalizing a b with
  | nil => exact h
  | cons x l ih =>
    obtain ⟨slot, v⟩ := x
    exact ih _ _ (by rw [Arr.at_put, Arr.at_put]; split <;> simp [h])

/-- The sessions of the family start within the bounds. -/
theorem starts {w : Workload} (hw : family_no_preemption w) (i : Nat) (hi : i < w.init.length) :
    Peak.Bounded params.bound
      (assign (Lst.nth [] w.init i) (Arr.put #[] deployment.slotSerial i)) := by
  obtain ⟨_, _, _, hz, hg⟩ := hw
  obtain ⟨z1, z2, z3⟩ := hz i hi
  obtain ⟨g1, g2⟩ := hg i hi
  intro s x hx
  have hne : s ≠ 1 := by
    intro hs
    subst hs
    simp [params] at hx
  rw [assign_at _ _ #[] s (by
    rw [Arr.at_put, if_neg (show ¬ deployment.slotSerial = s from fun h => hne h.symm)])]
  simp only [params] at hx
  simp only [Workload.attr, preset] at z1 z2 z3 g1 g2
  split at hx
  · next h => subst h; omega
  · split at hx
    · next h => subst h; have := Option.some.inj hx; omega
    · split at hx
      · next h => subst h; have := Option.some.inj hx; omega
      · split at hx
        · next h => subst h; omega
        · split at hx
          · next h => subst h; omega
          · simp at hx

/-- No iteration of any path preempts a request. -/
theorem no_preemption : Serq.Claims.NoPreemption.no_preemption :=
  fun _ hw _ hm _ _ => (Peak.never_preempted setting ok hw.2.1 (starts hw) hm).2

/-- Nothing has been preempted when all requests are answered. -/
theorem none_at_end : Serq.Claims.NoPreemption.none_at_end :=
  fun _ hw _ hm _ _ => (Peak.never_preempted setting ok hw.2.1 (starts hw) hm).1

end Serq.Papers.NoPreemption
