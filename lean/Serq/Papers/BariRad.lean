import Serq.Claims.BariRad
import Serq.Thm.TwoRuns
/-!
# RAD (Bari, Hegde, de Veciana, arXiv 2508.01002)

`token_rate` follows from the cost alone. `optimal_tiling`: prompts are whole tiles, so what a prefill
has left is always whole tiles; in prefill mode the oldest prefill takes exactly one, in decode mode
either a tile of requests decode or everybody does.
-/

namespace Serq.Papers.BariRad

open Serq.Claims.BariRad

/-- A node never serves more than one token in tlin / bcol + tnl of time, whatever comes: Theorem 1. -/
theorem token_rate : Claims.BariRad.token_rate := by
  refine served_rate ?_
  intro residents now s hs
  have hs' : s.tokens ≤ 128 := hs
  simp only [deployment, Expr.eval, BinaryOp.apply, Fun.apply, statsEnv]
  omega

/-- The program as one of two runs. -/
def params : TwoRuns.Params where
  a := 9
  t0 := .CtxVar .Now
  work1 := .Attr 10
  work2 := .Attr 11
  o := 0
  value := .Binary .Sub (.CtxVar .Now) (.Attr 9)

/-- The program is one of two runs. -/
theorem prog_eq : prog = TwoRuns.prog params := rfl

/-- A prompt of whole tiles. -/
def Tiled (x : Array Nat) : Prop := 128 ∣ Arr.at! x 10

/-- A prefill of whole tiles; a decode of anything. -/
def Whole (mode : Mode) (n : Nat) : Prop := mode ≠ .Decode → 128 ∣ n

/-- Whole tiles stay whole: what the program asks of its amounts. -/
theorem setting : TwoRuns.Setting deployment params Tiled Whole Whole where
  pools := rfl
  stages := rfl
  serve := rfl
  keepNote x v h := by
    unfold Tiled at *
    rw [Arr.at_put]
    simpa [params] using h
  keepTurn x v h := by
    unfold Tiled at *
    rw [Arr.at_put]
    simpa [deployment] using h
  prefill env h := fun _ => h
  decode env _ := fun h => absurd rfl h
  tokens mode left t h1 h2 := fun hm => Nat.dvd_sub (h1 hm) (h2 hm)

/-- Whether decodes are served: a tile of requests decode, or everybody does. -/
def decodeMode (m : Machine) : Prop :=
  128 ≤ countDecodes m.jobs ∨ countDecodes m.jobs = m.jobs.length

instance (m : Machine) : Decidable (decodeMode m) := by unfold decodeMode; infer_instance

/-- RAD leaves out the prefills in decode mode and the decodes otherwise. -/
theorem excluded_iff (m : Machine) (j : Job) :
    excluded deployment m j = true ↔
      (if decodeMode m then j.mode ≠ .Decode else j.mode = .Decode) := by
  have e : excluded deployment m j = decide ((if
      bit (bit (128 ≤ countDecodes m.jobs) ≠ 0 ∨ bit (countDecodes m.jobs = m.jobs.length) ≠ 0) = 0
      then bit (bit (j.mode = .Decode) = 0) else bit (j.mode = .Decode)) = 0) := rfl
  rw [e, decide_eq_true_eq]
  unfold decodeMode bit
  by_cases h1 : 128 ≤ countDecodes m.jobs <;>
    by_cases h2 : countDecodes m.jobs = m.jobs.length <;>
    by_cases h3 : j.mode = .Decode <;> simp [h1, h2, h3]

/-- The chunk cap is a tile. -/
theorem cap_eq (m : Machine) : chunkCap deployment m = 128 := rfl

/-- Whom RAD lets through, in its two modes. -/
theorem letThrough_mode (m : Machine) (js : List Job) :
    letThrough deployment m js =
      js.filter fun j => if decodeMode m then j.mode = .Decode else j.mode ≠ .Decode := by
  induction js with
  | nil => rfl
  | cons j js ih =>
    unfold letThrough
    rw [ih]
    have h := excluded_iff m j
    by_cases hd : decodeMode m
    · simp only [hd, if_true] at h ⊢
      by_cases hj : j.mode = .Decode
      · have : excluded deployment m j = false := by
          cases hx : excluded deployment m j with
          | false => rfl
          | true => exact absurd hj (h.mp hx)
        simp [this, hj]
      · simp [h.mpr hj, hj]
    · simp only [hd, if_false] at h ⊢
      by_cases hj : j.mode = .Decode
      · simp [h.mpr hj, hj]
      · have : excluded deployment m j = false := by
          cases hx : excluded deployment m j with
          | false => rfl
          | true => exact absurd (h.mp hx) hj
        simp [this, hj]

/-- The decodes among some jobs are as many as are counted. -/
theorem length_decodes (js : List Job) :
    (js.filter fun j => j.mode = .Decode).length = countDecodes js := by
  induction js with
  | nil => rfl
  | cons j js ih => by_cases h : j.mode = .Decode <;> simp [countDecodes, h, ih]

/-- Decodes with work left want one token each. -/
theorem sumWant_decodes {js : List Job} (h : ∀ j ∈ js, 0 < j.left ∧ j.mode = .Decode) :
    sumWant 128 js = js.length := by
  induction js with
  | nil => rfl
  | cons j js ih =>
    obtain ⟨h1, h2⟩ := h j (by simp)
    have hw : want 128 j = 1 := by
      unfold want
      simp only [h2]
      exact if_pos h1
    simp only [sumWant, hw, List.length_cons, ih fun x hx => h x (by simp [hx])]
    omega

/-- A prefill of whole tiles with work left wants exactly one tile. -/
theorem want_prefill {j : Job} (h0 : 0 < j.left) (hm : j.mode ≠ .Decode) (hd : 128 ∣ j.left) :
    want 128 j = 128 := by
  obtain ⟨k, hk⟩ := hd
  unfold want
  split
  · next h => exact absurd h hm
  · simp only [Nat.reduceEqDiff, if_false]
    split <;> omega

/-- The batch of tokens for decodes has as many decode entries as it has entries. -/
theorem decoders_fill {m : Machine} {left : Nat} {js : List Job}
    (h : ∀ j ∈ js, 0 < j.left ∧ j.mode = .Decode) (hl : js.length ≤ left) :
    (statsOf (fillBatch deployment m 128 left js)).decoders = js.length := by
  induction js generalizing left with
  | nil => rfl
  | cons j js ih =>
    obtain ⟨h1, h2⟩ := h j (by simp)
    have hw : want 128 j = 1 := by
      unfold want
      simp only [h2]
      exact if_pos h1
    simp only [List.length_cons] at hl
    have hmin : min 1 left = 1 := by omega
    unfold fillBatch
    simp only [hw, hmin, Nat.one_ne_zero, if_false]
    have ih' := ih (left := left - 1) (fun x hx => h x (by simp [hx])) (by omega)
    simp only [statsOf, plainEntry, h2, ih', List.length_cons]

/-- Where every prefill has whole tiles left, the batch gives prefills whole tiles. -/
theorem batch_whole {m : Machine} (h : TwoRuns.Inv params Tiled Whole Whole m) :
    ∀ e ∈ TwoRuns.batchOf deployment m, Whole e.mode e.tokens := by
  unfold TwoRuns.batchOf
  rw [cap_eq, letThrough_mode]
  by_cases hd : decodeMode m
  · intro e he hm
    obtain ⟨j, hj, _, hjm, _⟩ := TwoRuns.mem_fillBatch he
    simp only [hd, if_true, List.mem_filter, decide_eq_true_eq] at hj
    exact absurd (hjm ▸ hj.2) hm
  · have hall : ∀ j ∈ m.jobs.filter fun j => if decodeMode m then j.mode = .Decode
        else j.mode ≠ .Decode, 0 < j.left ∧ j.mode ≠ .Decode ∧ 128 ∣ j.left := by
      intro j hj
      simp only [hd, if_false, List.mem_filter, decide_eq_true_eq] at hj
      have hjo := h.jobs j hj.1
      exact ⟨hjo.left, hj.2, hjo.amount hj.2⟩
    generalize hjs : (m.jobs.filter fun j => if decodeMode m then j.mode = .Decode
        else j.mode ≠ .Decode) = js at hall
    have hb : deployment.budget = 128 := rfl
    rw [hb]
    intro e he _
    cases js with
    | nil => simp [fillBatch] at he
    | cons j js =>
      obtain ⟨h1, h2, h3⟩ := hall j (by simp)
      unfold fillBatch at he
      simp only [want_prefill h1 h2 h3, Nat.min_self, Nat.sub_self, fillBatch_zero] at he
      simp at he
      rw [he]
      exact Nat.dvd_refl 128

/-- Every batch of RAD fills its tile, unless everybody at the node decodes: optimal tiling, section
4.2. -/
theorem optimal_tiling : Claims.BariRad.optimal_tiling := by
  unfold Claims.BariRad.optimal_tiling
  rw [prog_eq]
  refine TwoRuns.every_iteration setting ?_ (fun m h _ => batch_whole h) ?_
  · intro w hw
    obtain ⟨_, ht, ⟨gs, hg, _⟩, hgiven⟩ := hw
    refine ⟨ht, ⟨gs, hg⟩, ?_⟩
    intro i hi
    have := hgiven i hi
    have hsame : ∀ (l : List (Nat × Nat)) (x y : Array Nat), Arr.at! x 10 = Arr.at! y 10 →
        Arr.at! (assign l x) 10 = Arr.at! (assign l y) 10 := by
      intro l
      induction l with
      | nil => intro x y hxy; exact hxy
      | cons a l ih =>
        intro x y hxy
        unfold assign
        refine ih _ _ ?_
        rw [Arr.at_put, Arr.at_put, hxy]
    unfold Tiled
    rw [hsame _ (Arr.put #[] deployment.slotSerial i) #[] (by rw [Arr.at_put]; rfl)]
    exact ⟨w.attr i 10 / 128, this⟩
  · intro m h hi hne
    have hf := startIteration_fill (D := deployment) rfl hi (fun j hj => (h.jobs j hj).growing)
      (TwoRuns.no_queue rfl m) hne
    simp only [cap_eq] at hf
    obtain ⟨_, _, _, ht, hdec, hres, _⟩ := hf
    rw [ht, hdec, hres, letThrough_mode]
    have hb : deployment.budget = 128 := rfl
    rw [hb]
    by_cases hd : decodeMode m
    · -- decode mode: everybody let through decodes and wants one token
      have hall : ∀ j ∈ m.jobs.filter fun j => j.mode = .Decode, 0 < j.left ∧ j.mode = .Decode := by
        intro j hj
        simp only [List.mem_filter, decide_eq_true_eq] at hj
        exact ⟨(h.jobs j hj.1).left, hj.2⟩
      simp only [hd, if_true]
      rw [sumTokens_fillBatch, sumWant_decodes hall, length_decodes]
      rcases hd with hd | hd
      · left; omega
      · by_cases hlt : 128 ≤ countDecodes m.jobs
        · left; omega
        · right
          rw [decoders_fill hall (by rw [length_decodes]; omega), length_decodes, hd]
    · -- prefill mode: somebody prefills, and the oldest takes a tile
      left
      simp only [hd, if_false]
      rw [sumTokens_fillBatch]
      have hex : ∃ j ∈ m.jobs, j.mode ≠ .Decode := by
        apply Classical.byContradiction
        intro hno
        apply hd
        right
        rw [← length_decodes, List.filter_eq_self.mpr]
        intro j hj
        simp only [decide_eq_true_eq]
        apply Classical.byContradiction
        exact fun hne' => hno ⟨j, hj, hne'⟩
      obtain ⟨j, hj, hjm⟩ := hex
      have hmem : j ∈ m.jobs.filter fun j => j.mode ≠ .Decode := by simp [hj, hjm]
      have hle : ∀ (js : List Job), j ∈ js → want 128 j ≤ sumWant 128 js := by
        intro js
        induction js with
        | nil => simp
        | cons x js ih =>
          intro hx
          rcases List.mem_cons.mp hx with rfl | hx
          · simp only [sumWant]; omega
          · have := ih hx
            simp only [sumWant]
            omega
      have hjo := h.jobs j hj
      have h1 := hle _ hmem
      rw [want_prefill hjo.left hjm (hjo.amount hjm)] at h1
      omega

end Serq.Papers.BariRad
