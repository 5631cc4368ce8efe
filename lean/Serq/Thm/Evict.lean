import Serq.Exec
/-!
# Eviction

What is evicted is the oldest (or the first by the pool's keys), every eviction frees something, the
allocation is untouched, and at the end there is room or nothing is cached.
-/

namespace Serq

/-! ## Whole blocks -/

/-- Rounding up loses nothing. -/
theorem le_roundUp (b u : Nat) : u ≤ roundUp b u := by
  unfold roundUp
  split
  · exact Nat.le_refl u
  · next h =>
    have h1 := Nat.div_add_mod (u + (b - 1)) b
    have h2 := Nat.mod_lt (u + (b - 1)) (Nat.pos_of_ne_zero h)
    rw [Nat.mul_comm] at h1
    omega

/-- Rounding down adds nothing. -/
theorem roundDown_le (b u : Nat) : roundDown b u ≤ u := by
  unfold roundDown
  split
  · exact Nat.le_refl u
  · exact Nat.div_mul_le_self u b

/-- Rounding up adds less than a block. -/
theorem roundUp_lt {b : Nat} (hb : 0 < b) (u : Nat) : roundUp b u < u + b := by
  unfold roundUp
  have h0 : b ≠ 0 := Nat.ne_of_gt hb
  simp only [h0, if_false]
  have := Nat.div_mul_le_self (u + (b - 1)) b
  omega

/-- A whole number of blocks rounds up to itself. -/
theorem roundUp_of_dvd {b u : Nat} (h : b ∣ u) : roundUp b u = u := by
  unfold roundUp
  split
  · rfl
  · next hb =>
    obtain ⟨k, rfl⟩ := h
    have hb' : 0 < b := Nat.pos_of_ne_zero hb
    have : (b * k + (b - 1)) / b = k := by
      rw [Nat.mul_add_div hb', Nat.div_eq_of_lt (by omega)]
      rfl
    rw [this, Nat.mul_comm]

/-! ## The chosen entry -/

/-- When something is cached, something is chosen. -/
theorem pickOut_some (lt : CacheEntry → CacheEntry → Bool) {es : List CacheEntry} (h : es ≠ []) :
    ∃ e rest, pickOut lt es = some (e, rest) := by
  cases es with
  | nil => exact absurd rfl h
  | cons e es =>
    unfold pickOut
    split
    · exact ⟨_, _, rfl⟩
    · split <;> exact ⟨_, _, rfl⟩

/-- The chosen entry and the rest are the entries, one by one. -/
theorem pickOut_mem {lt : CacheEntry → CacheEntry → Bool} {es rest : List CacheEntry}
    {e : CacheEntry} (h : pickOut lt es = some (e, rest)) (x : CacheEntry) :
    x ∈ es ↔ x = e ∨ x ∈ rest := by
  induction es generalizing e rest with
  | nil => simp [pickOut] at h
  | cons a es ih =>
    unfold pickOut at h
    split at h
    · next hn =>
      cases es with
      | nil => simp_all
      | cons b es =>
        obtain ⟨e', r', h'⟩ := pickOut_some lt (List.cons_ne_nil b es)
        simp [h'] at hn
    · next b r hb =>
      have ih' := ih hb
      split at h <;> simp only [Option.some.injEq, Prod.mk.injEq] at h <;> obtain ⟨rfl, rfl⟩ := h
      · simp only [List.mem_cons, ih']
        constructor
        · rintro (h | h | h) <;> simp [h]
        · rintro (h | h | h) <;> simp [h]
      · simp [List.mem_cons]

/-- Choosing an entry loses no units and no entries. -/
theorem pickOut_sum {lt : CacheEntry → CacheEntry → Bool} {es rest : List CacheEntry}
    {e : CacheEntry} (h : pickOut lt es = some (e, rest)) :
    e.size + sumSizes rest = sumSizes es ∧ rest.length + 1 = es.length := by
  induction es generalizing e rest with
  | nil => simp [pickOut] at h
  | cons a es ih =>
    unfold pickOut at h
    split at h
    · next hn =>
      cases es with
      | nil => simp_all [sumSizes]
      | cons b es =>
        obtain ⟨e', r', h'⟩ := pickOut_some lt (List.cons_ne_nil b es)
        simp [h'] at hn
    · next b r hb =>
      have ih' := ih hb
      split at h <;> simp only [Option.some.injEq, Prod.mk.injEq] at h <;> obtain ⟨rfl, rfl⟩ := h
      · simp only [sumSizes, List.length_cons]
        omega
      · simp [sumSizes]

/-- The oldest entry is one of the entries. -/
theorem lru_mem {es rest : List CacheEntry} {e : CacheEntry}
    (h : pickOut older es = some (e, rest)) : e ∈ es :=
  (pickOut_mem h e).mpr (Or.inl rfl)

/-- When something is cached, there is an oldest entry. -/
theorem lru_some {es : List CacheEntry} (h : es ≠ []) :
    ∃ e rest, pickOut older es = some (e, rest) := pickOut_some older h

/-- Older: released earlier, or at the same time with a smaller release number. -/
theorem older_iff (a b : CacheEntry) :
    older a b = true ↔ a.last < b.last ∨ (a.last = b.last ∧ a.seq < b.seq) := by
  unfold older
  split
  · simp [*]
  · split <;> simp <;> omega

/-- No entry is older than the chosen one. -/
theorem lru_before {es rest : List CacheEntry} {e : CacheEntry}
    (h : pickOut older es = some (e, rest)) : ∀ x ∈ es, older x e = false := by
  induction es generalizing e rest with
  | nil => simp [pickOut] at h
  | cons a es ih =>
    have irrefl : ∀ y, older y y = false := fun y => by
      cases hy : older y y with
      | false => rfl
      | true => rw [older_iff] at hy; omega
    unfold pickOut at h
    split at h
    · next hn =>
      cases es with
      | nil =>
        simp only [Option.some.injEq, Prod.mk.injEq] at h
        intro x hx
        simp only [List.mem_singleton] at hx
        rw [hx, ← h.1]
        exact irrefl a
      | cons b es =>
        obtain ⟨e', r', h'⟩ := pickOut_some older (List.cons_ne_nil b es)
        simp [h'] at hn
    · next b r hb =>
      have ih' := ih hb
      split at h <;> simp only [Option.some.injEq, Prod.mk.injEq] at h
      · next hlt =>
        intro x hx
        rw [← h.1]
        rcases List.mem_cons.mp hx with rfl | hx
        · cases hc : older x b with
          | false => rfl
          | true =>
            rw [older_iff] at hlt hc
            omega
        · exact ih' x hx
      · next hlt =>
        intro x hx
        rw [← h.1]
        rcases List.mem_cons.mp hx with rfl | hx
        · exact irrefl x
        · have hxb := ih' x hx
          cases hc : older x a with
          | false => rfl
          | true =>
            have h1 : ¬ older x b = true := by simp [hxb]
            have h2 : ¬ older b a = true := by simpa using hlt
            rw [older_iff] at hc h1 h2
            omega

/-! ## One eviction -/

/-- An eviction takes no more than the entry has. -/
theorem cutOf_le (block : Nat) (steps : Bool) (size over : Nat) :
    cutOf block steps size over ≤ size := by
  unfold cutOf
  split
  · exact Nat.le_refl size
  · simp only
    split <;> (split <;> omega)

/-- An eviction of a positive entry takes something. -/
theorem cutOf_pos {size over : Nat} (block : Nat) (steps : Bool) (hs : 0 < size) (ho : 0 < over) :
    0 < cutOf block steps size over := by
  have := le_roundUp block over
  unfold cutOf
  split
  · exact hs
  · simp only
    split <;> (split <;> omega)

/-- One eviction leaves strictly fewer units, when the chosen entry has any. -/
theorem evictOne_lt {lt : CacheEntry → CacheEntry → Bool} {es rest : List CacheEntry}
    {e : CacheEntry} (h : pickOut lt es = some (e, rest)) (block : Nat) (steps : Bool) {over : Nat}
    (ho : 0 < over) (he : 0 < e.size) :
    e.size - cutOf block steps e.size over + sumSizes rest < sumSizes es := by
  have := pickOut_sum h
  have := cutOf_pos block steps he ho
  omega

/-- Evicting keeps every entry positive. -/
theorem evict_pos {lt : CacheEntry → CacheEntry → Bool} {block : Nat} {steps : Bool}
    (fuel over : Nat) {es : List CacheEntry} (h : ∀ e ∈ es, 0 < e.size) :
    ∀ e ∈ evict lt block steps fuel over es, 0 < e.size := by
  induction fuel generalizing over es with
  | zero => exact h
  | succ fuel ih =>
    unfold evict
    split
    · exact h
    · split
      · exact h
      · next e rest hp =>
        refine ih _ ?_
        have hrest : ∀ x ∈ rest, 0 < x.size := fun x hx =>
          h x ((pickOut_mem hp x).mpr (Or.inr hx))
        split
        · exact hrest
        · next hn =>
          intro x hx
          rcases List.mem_cons.mp hx with rfl | hx
          · exact Nat.pos_of_ne_zero hn
          · exact hrest x hx

/-- Evicting adds nothing. -/
theorem evict_le {lt : CacheEntry → CacheEntry → Bool} {block : Nat} {steps : Bool}
    (fuel over : Nat) (es : List CacheEntry) :
    sumSizes (evict lt block steps fuel over es) ≤ sumSizes es := by
  induction fuel generalizing over es with
  | zero => exact Nat.le_refl _
  | succ fuel ih =>
    unfold evict
    split
    · exact Nat.le_refl _
    · split
      · exact Nat.le_refl _
      · next e rest hp =>
        have hs := pickOut_sum hp
        have hc := cutOf_le block steps e.size over
        refine Nat.le_trans (ih _ _) ?_
        split
        · omega
        · simp only [sumSizes]
          omega

/-- With enough fuel, evicting frees what is missing, or leaves nothing cached. -/
theorem evict_room {lt : CacheEntry → CacheEntry → Bool} {block : Nat} {steps : Bool}
    (fuel over : Nat) (es : List CacheEntry) (hf : sumSizes es + es.length < fuel) :
    evict lt block steps fuel over es = [] ∨
      sumSizes (evict lt block steps fuel over es) + over ≤ sumSizes es := by
  induction fuel generalizing over es with
  | zero => omega
  | succ fuel ih =>
    unfold evict
    split
    · next h => right; omega
    · next ho =>
      split
      · next hp =>
        left
        cases es with
        | nil => rfl
        | cons e es =>
          obtain ⟨e', r', h'⟩ := pickOut_some lt (List.cons_ne_nil e es)
          simp [h'] at hp
      · next e rest hp =>
        have hs := pickOut_sum hp
        have hc := cutOf_le block steps e.size over
        simp only
        split
        · next hn =>
          rcases ih (over - cutOf block steps e.size over) rest (by omega) with h | h
          · exact Or.inl h
          · right; omega
        · next hn =>
          have hc' := cutOf_pos block steps (by omega : 0 < e.size) (Nat.pos_of_ne_zero ho)
          rcases ih (over - cutOf block steps e.size over)
            ({ e with size := e.size - cutOf block steps e.size over } :: rest)
            (by simp only [sumSizes, List.length_cons]; omega) with h | h
          · exact Or.inl h
          · right
            simp only [sumSizes] at h
            omega

/-! ## Making room in a pool -/

/-- The state of a pool after a change of it, or of another pool. -/
theorem pool_modPool (m : Machine) (p q : Nat) (f : PoolSt → PoolSt) :
    (m.modPool p f).pool q = if p = q ∧ p < m.pools.length then f (m.pool q) else m.pool q := by
  simp [Machine.pool, Machine.modPool, Lst.nth_mod]

/-- A pool that does not exist has nothing. -/
theorem pool_of_length_le {m : Machine} {p : Nat} (h : m.pools.length ≤ p) : m.pool p = {} := by
  simp [Machine.pool, Lst.nth_eq_getD, List.getD_eq_getElem?_getD, List.getElem?_eq_none h]

/-- Making room changes nothing but the cached prefixes of its pool. -/
theorem makeRoom_used (D : Deployment) (m : Machine) (p need q : Nat) :
    ((makeRoom D m p need).pool q).used = (m.pool q).used ∧
    ((makeRoom D m p need).pool q).holders = (m.pool q).holders ∧
    ((makeRoom D m p need).pool q).queue = (m.pool q).queue ∧
    (q ≠ p → (makeRoom D m p need).pool q = m.pool q) := by
  unfold makeRoom
  simp only
  split
  · simp
  · simp only [pool_modPool]
    refine ⟨?_, ?_, ?_, ?_⟩
    · split <;> rfl
    · split <;> rfl
    · split <;> rfl
    · intro h
      rw [if_neg]
      omega

/-- Making room makes room: afterwards the units fit beside the allocated and the cached ones, or
nothing is cached any more. -/
theorem makeRoom_room (D : Deployment) (m : Machine) (p need : Nat) :
    ((makeRoom D m p need).pool p).entries = [] ∨
    ((makeRoom D m p need).pool p).used + sumSizes ((makeRoom D m p need).pool p).entries + need ≤
      (D.pool p).cap := by
  unfold makeRoom
  simp only
  split
  · next h => right; omega
  · next h =>
    rw [pool_modPool]
    split
    · next hp =>
      simp only
      rcases evict_room (lt := evictBefore D m p) (block := (D.pool p).block)
        (steps := (D.pool p).inSteps) (evictFuel (m.pool p).entries)
        ((m.pool p).used + sumSizes (m.pool p).entries + need - (D.pool p).cap) (m.pool p).entries
        (by simp [evictFuel]) with h' | h'
      · exact Or.inl h'
      · right; omega
    · next hp =>
      left
      rw [pool_of_length_le (by omega)]

/-- Making room adds nothing to what is cached. -/
theorem makeRoom_le (D : Deployment) (m : Machine) (p need q : Nat) :
    sumSizes ((makeRoom D m p need).pool q).entries ≤ sumSizes (m.pool q).entries := by
  unfold makeRoom
  simp only
  split
  · exact Nat.le_refl _
  · rw [pool_modPool]
    split
    · next hp =>
      obtain ⟨rfl, _⟩ := hp
      exact evict_le _ _ _
    · exact Nat.le_refl _

/-! ## Stored attributes -/

/-- Stored attributes behave as function update. -/
theorem attrs_get_upd (a : Array Nat) (slot v j : Nat) :
    Arr.at! (Arr.put a slot v) j = if slot = j then v else Arr.at! a j := Arr.at_put a slot v j

end Serq
