/-!
# Array access that both the kernel and the interpreter can run

Sessions and attributes are kept in arrays, so that a long run does not pay for the sessions it has
already served. The kernel evaluates lists well and the library's array functions badly, so access is
*defined* on the list behind the array; each definition has a proved equation (`@[csimp]`) to the
library's function, which is what compiled and interpreted code runs.
-/

namespace Serq

namespace Lst

/-- Element `i` of a list, `d` beyond its end. -/
def nth (d : α) : List α → Nat → α
  | [], _ => d
  | a :: _, 0 => a
  | _ :: l, i + 1 => nth d l i

/-- `f` applied to element `i`; nothing changes beyond the end. -/
def mod (f : α → α) : List α → Nat → List α
  | [], _ => []
  | a :: l, 0 => f a :: l
  | a :: l, i + 1 => a :: mod f l i

/-- `v` at place `i`; a list that is too short is filled up with `d`. -/
def put (d v : α) : List α → Nat → List α
  | [], 0 => [v]
  | [], i + 1 => d :: put d v [] i
  | _ :: l, 0 => v :: l
  | a :: l, i + 1 => a :: put d v l i

/-- Taking a place of a list is the library's `getD`. -/
theorem nth_eq_getD (d : α) (l : List α) (i : Nat) : nth d l i = l.getD i d := by
  induction l generalizing i with
  | nil => simp [nth]
  | cons a l ih => cases i <;> simp_all [nth]

/-- Changing a place of a list is the library's `modify`. -/
theorem mod_eq_modify (f : α → α) (l : List α) (i : Nat) : mod f l i = l.modify i f := by
  induction l generalizing i with
  | nil => simp [mod]
  | cons a l ih => cases i <;> simp_all [mod]

/-- Changing a place keeps the length. -/
@[simp] theorem length_mod (f : α → α) (l : List α) (i : Nat) : (mod f l i).length = l.length := by
  simp [mod_eq_modify]

/-- What stands at a place after another (or the same) place was changed. -/
theorem nth_mod (d : α) (f : α → α) (l : List α) (i j : Nat) :
    nth d (mod f l i) j = if i = j ∧ i < l.length then f (nth d l j) else nth d l j := by
  induction l generalizing i j with
  | nil => simp [nth, mod]
  | cons a l ih =>
    cases i <;> cases j <;> simp [nth, mod, ih]

/-- A value put at a place stands there, and every other place is as before. -/
theorem nth_put (d v : α) (l : List α) (i j : Nat) :
    nth d (put d v l i) j = if i = j then v else nth d l j := by
  induction l generalizing i j with
  | nil =>
    induction i generalizing j with
    | zero => cases j <;> simp [nth, put]
    | succ i ih => cases j <;> simp [nth, put, ih]
  | cons a l ih => cases i <;> cases j <;> simp [nth, put, ih]

/-- `put` within the list is the library's `set`. -/
theorem put_eq_set (d v : α) (l : List α) (i : Nat) (h : i < l.length) : put d v l i = l.set i v := by
  induction l generalizing i with
  | nil => simp at h
  | cons a l ih => cases i <;> simp_all [put]

/-- `put` beyond the list fills the gap. -/
theorem put_eq_append (d v : α) (l : List α) (i : Nat) (h : l.length ≤ i) :
    put d v l i = l ++ List.replicate (i - l.length) d ++ [v] := by
  induction l generalizing i with
  | nil =>
    induction i with
    | zero => simp [put]
    | succ i ih => simp_all [put, List.replicate_succ]
  | cons a l ih =>
    cases i with
    | zero => simp at h
    | succ i => simp_all [put]

end Lst

namespace Arr

/-- Element `i` of an array, the default beyond its end. -/
def at! [Inhabited α] (a : Array α) (i : Nat) : α := Lst.nth default a.toList i

/-- `f` applied to element `i` of an array. -/
def mod (a : Array α) (i : Nat) (f : α → α) : Array α := ⟨Lst.mod f a.toList i⟩

/-- `v` at place `i` of an array of numbers, which is filled up with zeros when it is too short. -/
def put (a : Array Nat) (i v : Nat) : Array Nat := ⟨Lst.put 0 v a.toList i⟩

/-- The library's way to read an element. -/
@[inline] def atFast [Inhabited α] (a : Array α) (i : Nat) : α := a.getD i default

/-- The library's way to change an element in place. -/
@[inline] def modFast (a : Array α) (i : Nat) (f : α → α) : Array α := a.modify i f

/-- The library's way to write an element in place. -/
@[inline] def putFast (a : Array Nat) (i v : Nat) : Array Nat :=
  if i < a.size then a.setIfInBounds i v else (a ++ Array.replicate (i - a.size) 0).push v

/-- Reading through the list is reading the array. -/
@[csimp] theorem at_eq_atFast : @at! = @atFast := by
  funext α _ a i
  simp [at!, atFast, Lst.nth_eq_getD, Array.getD_eq_getD_getElem?]

/-- Changing through the list is changing the array. -/
@[csimp] theorem mod_eq_modFast : @mod = @modFast := by
  funext α a i f
  apply Array.toList_inj.mp
  simp [mod, modFast, Lst.mod_eq_modify]

/-- Writing through the list is writing the array. -/
@[csimp] theorem put_eq_putFast : @put = @putFast := by
  funext a i v
  apply Array.toList_inj.mp
  unfold put putFast
  split
  · next h => simp [Lst.put_eq_set 0 v a.toList i (by simpa using h)]
  · next h =>
    rw [Lst.put_eq_append 0 v a.toList i (by simpa using h)]
    simp

/-- What stands at a place of an array after a change. -/
theorem at_mod [Inhabited α] (a : Array α) (i j : Nat) (f : α → α) :
    at! (mod a i f) j = if i = j ∧ i < a.size then f (at! a j) else at! a j := by
  simp [at!, mod, Lst.nth_mod]

/-- Changing an element keeps the size. -/
@[simp] theorem size_mod (a : Array α) (i : Nat) (f : α → α) : (mod a i f).size = a.size := by
  simp [mod]

/-- Stored numbers behave as function update: the written place changes, every other stays. -/
theorem at_put (a : Array Nat) (i v j : Nat) : at! (put a i v) j = if i = j then v else at! a j := by
  simp [at!, put, Lst.nth_put]

end Arr

end Serq
